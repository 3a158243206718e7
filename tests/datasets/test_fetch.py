"""Downloading from a local server that behaves, cuts connections, lies, and sends harmful files."""

import contextlib
import gc
import io
import logging
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from relaxwl.datasets import fetch
from relaxwl.datasets.fetch import DownloadError, cache_directory, download_tu, fetch_tu
from relaxwl.datasets.tu import load_tu

MEMBERS = {
    "TOY/TOY_A.txt": "1, 2\n2, 1\n2, 3\n3, 2\n",
    "TOY/TOY_graph_indicator.txt": "1\n1\n1\n2\n",
    "TOY/TOY_graph_labels.txt": "1\n-1\n",
    "TOY/README.txt": "A toy.\n",
}


def zipped(members: dict[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text, zipfile.ZIP_DEFLATED)
    return content.getvalue()


TOY_ZIP = zipped(MEMBERS)


class Server(ThreadingHTTPServer):
    """Answers each request with the next of its scripted answers, and the last one again and again."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/sets"
        self.answers: list[Callable[[Handler], None]] = []
        self.requested: list[str] = []
        self.dripped = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet about connections that a client gives up."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requested.append(self.path)
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer(self)

    def log_message(self, *args: object) -> None:
        pass


def sends(content: bytes, *, announced: int | None = -1, status: int = 200) -> Callable[[Handler], None]:
    """Return an answer that sends ``content``, perhaps under a wrong Content-Length or (None) without one."""

    def answer(handler: Handler) -> None:
        handler.send_response(status)
        if announced is not None:
            handler.send_header("Content-Length", str(len(content) if announced < 0 else announced))
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = True

    return answer


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True


CUT = sends(TOY_ZIP[:100], announced=len(TOY_ZIP))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetch, "BACKOFF_SECONDS", 0.001)
    # A proxy of the machine must not come between the tests and their server.
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("*")) if cache.exists() else []


# ------------------------------------------------------------------------------------------------- download and cache


def test_download_is_loaded_and_kept(server, cache):
    server.answers = [sends(TOY_ZIP)]
    graphs, y = fetch_tu("TOY", cache, server.url)
    assert graphs.node_counts.tolist() == [3, 1]
    assert y.tolist() == [1, 0]
    assert server.requested == ["/sets/TOY.zip"]
    assert left_in(cache) == ["TOY.zip"]
    assert (cache / "TOY.zip").read_bytes() == TOY_ZIP
    assert load_tu(cache / "TOY.zip")[0] == graphs


def test_second_call_makes_no_request(server, cache):
    server.answers = [sends(TOY_ZIP)]
    first, _ = fetch_tu("TOY", cache, server.url)
    second, _ = fetch_tu("TOY", str(cache), server.url + "/")
    assert second == first
    assert len(server.requested) == 1


@pytest.mark.parametrize("announced", [-1, None], ids=["length announced", "length unknown"])
def test_length_may_be_unknown(server, cache, announced):
    server.answers = [sends(TOY_ZIP, announced=announced)]
    assert download_tu("TOY", cache, server.url).read_bytes() == TOY_ZIP


@pytest.mark.parametrize(
    "damage",
    [
        lambda cache: (cache / "TOY.zip").write_bytes(TOY_ZIP[:-30]),
        lambda cache: (cache / "TOY.zip").write_bytes(b""),
        lambda cache: (cache / "TOY.zip").unlink(),
    ],
    ids=["cut", "emptied", "file gone"],
)
def test_corrupted_cache_is_downloaded_again(server, cache, damage):
    server.answers = [sends(TOY_ZIP)]
    first, _ = fetch_tu("TOY", cache, server.url)
    damage(cache)
    again, _ = fetch_tu("TOY", cache, server.url)
    assert again == first
    assert len(server.requested) == 2
    fetch_tu("TOY", cache, server.url)
    assert len(server.requested) == 2


# ---------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    "trouble",
    [CUT, hangs_up, *(sends(b"busy", status=status) for status in (429, 500, 503))],
    ids=["cut", "hangs up", "429", "500", "503"],
)
def test_trouble_that_passes_is_overcome(server, cache, trouble):
    server.answers = [trouble, trouble, sends(TOY_ZIP)]
    assert download_tu("TOY", cache, server.url).read_bytes() == TOY_ZIP
    assert len(server.requested) == 3


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (CUT, f"cut after 100 of {len(TOY_ZIP)} bytes"),
        (hangs_up, r"cannot download http://.*/TOY\.zip"),
        (sends(b"busy", status=503), "status 503"),
    ],
    ids=["cut", "hangs up", "503"],
)
def test_trouble_that_stays_is_an_error_and_leaves_nothing(server, cache, trouble, message):
    server.answers = [trouble]
    with pytest.raises(DownloadError, match=message) as error:
        fetch_tu("TOY", cache, server.url)
    assert "relaxwl.datasets.load_tu('path/to/TOY.zip')" in str(error.value)
    assert len(server.requested) == fetch.ATTEMPTS
    assert left_in(cache) == []


def test_unknown_name_is_not_tried_again(server, cache):
    server.answers = [sends(b"", status=404)]
    with pytest.raises(ValueError, match=r"no data set 'MUTAGG' at .*MUTAGG\.zip .* see https://"):
        fetch_tu("MUTAGG", cache, server.url)
    assert len(server.requested) == 1
    assert left_in(cache) == []


def test_refusal_is_not_tried_again(server, cache):
    server.answers = [sends(b"", status=403)]
    with pytest.raises(DownloadError, match="status 403"):
        fetch_tu("TOY", cache, server.url)
    assert len(server.requested) == 1


def test_offline(server, cache):
    url = server.url
    server.answers = [sends(TOY_ZIP)]
    online, _ = fetch_tu("TOY", cache, url)
    server.server_close()
    offline, _ = fetch_tu("TOY", cache, url)
    assert offline == online
    (cache / "TOY.zip").write_bytes(b"")
    with pytest.raises(DownloadError, match=r"cannot download .*Without a connection.*load_tu\('path/to/TOY.zip'\)"):
        fetch_tu("TOY", cache, url)


@pytest.mark.parametrize("name", ["", "../TOY", "a/b", "a\\b", ".hidden", "a..b", "TOY?x", "TOY\n", "a" * 101, None, 3])
def test_names_that_are_none(cache, name):
    with pytest.raises(ValueError, match="name must be that of a data set"):
        fetch_tu(name, cache, "http://127.0.0.1:9")
    assert not cache.exists()


@pytest.mark.parametrize("base_url", ["file:///etc", "ftp://host", "/local/folder"])
def test_only_the_web(cache, base_url):
    with pytest.raises(ValueError, match="base_url must begin with https://"):
        fetch_tu("TOY", cache, base_url)


@pytest.mark.parametrize("announced", [-1, None], ids=["announced", "not announced"])
def test_size_of_a_download_is_bounded(server, cache, monkeypatch, announced):
    monkeypatch.setattr(fetch, "MAX_DOWNLOAD_BYTES", len(TOY_ZIP) - 1)
    server.answers = [sends(TOY_ZIP, announced=announced)]
    with pytest.raises(DownloadError, match="is larger than"):
        fetch_tu("TOY", cache, server.url)
    assert left_in(cache) == []


# ---------------------------------------------------------------------------------------------------- harmful answers


def damaged() -> bytes:
    content = bytearray(TOY_ZIP)
    content[content.index(b"TOY/TOY_A.txt") + 15] ^= 1
    return bytes(content)


HARMFUL = {
    "not a zip": (b"<html>Please log in</html>", "neither a folder nor a zip file"),
    "cut zip": (TOY_ZIP[:-30], "neither a folder nor a zip file"),
    "damaged member": (damaged(), r"TOY\.zip cannot be read as a zip file"),
    "no data set": (zipped({"README.txt": "x"}), r"TOY\.zip holds no data set"),
    "another data set": (zipped({"X/X_A.txt": "", "X/X_graph_indicator.txt": ""}), "contains X instead of TOY"),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_harmful_answers_are_refused_and_not_kept(server, cache, case):
    content, message = HARMFUL[case]
    server.answers = [sends(content)]
    with pytest.raises(DownloadError, match=message):
        fetch_tu("TOY", cache, server.url)
    assert left_in(cache) == []
    assert left_in(cache.parent) == ["cache"]


# ------------------------------------------------------------------------------------------- where files go, progress


def test_cache_directory_follows_the_environment(server, monkeypatch, tmp_path):
    monkeypatch.setenv("RELAXWL_CACHE", str(tmp_path / "mine"))
    server.answers = [sends(TOY_ZIP)]
    assert download_tu("TOY", base_url=server.url) == tmp_path / "mine" / "tu" / "TOY.zip"
    monkeypatch.delenv("RELAXWL_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    for platform, expected in {"linux": "xdg", "darwin": "Library/Caches", "win32": "local"}.items():
        monkeypatch.setattr("sys.platform", platform)
        assert cache_directory() == tmp_path / expected / "relaxwl" / "tu"
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == tmp_path / ".cache" / "relaxwl" / "tu"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("announced", [-1, None], ids=["length announced", "length unknown"])
def test_progress_bar_on_a_terminal(server, cache, monkeypatch, announced):
    monkeypatch.setattr("relaxwl._progress._is_configured", lambda: False)
    server.answers = [sends(TOY_ZIP, announced=announced)]
    with contextlib.redirect_stderr(Terminal()) as terminal:
        fetch_tu("TOY", cache, server.url)
    shown = terminal.getvalue()
    assert shown.startswith("\rTOY")
    assert shown.endswith("\n")
    assert ("100%" in shown) == (announced is not None)


def test_log_instead_of_a_bar_elsewhere(server, cache, caplog, capsys):
    server.answers = [sends(TOY_ZIP)]
    with caplog.at_level(logging.INFO):
        fetch_tu("TOY", cache, server.url)
    assert "downloading TOY (0.0 MB)" in caplog.text
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""


# ------------------------------------------------------------------------------------------- servers of another kind


def drips(handler: Handler) -> None:
    """Send the headers and then a byte now and then, as long as somebody listens."""
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for byte in TOY_ZIP:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            handler.server.dripped += 1
            time.sleep(0.02)
    handler.close_connection = True


def test_the_whole_download_has_a_time_limit(server, cache):
    server.answers = [drips]
    with pytest.raises(DownloadError, match=r"not complete after 0\.3 seconds.*time_limit"):
        fetch_tu("TOY", cache, server.url, time_limit=0.3)
    assert server.dripped < len(TOY_ZIP)  # it did not wait for the end
    assert left_in(cache) == []
    with pytest.raises(ValueError, match="time_limit"):
        fetch_tu("TOY", cache, server.url, time_limit=0)


@pytest.mark.parametrize("length", ["²", "-5", "1e3", "9" * 5000, "", "0x10"])
def test_a_length_that_is_no_number_is_no_length(server, cache, length):
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.headers_sent = handler._headers_buffer.append(f"Content-Length: {length}\r\n".encode("latin-1"))
        handler.end_headers()
        handler.wfile.write(TOY_ZIP)
        handler.close_connection = True

    server.answers = [answer]
    with contextlib.suppress(DownloadError):
        assert len(fetch_tu("TOY", cache, server.url)[0]) == 2


# urllib leaves the connection open when it finds the address wrong.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "target",
    ["http://[::1", f"http://{'a' * 300}.org/x", "http://a..b/x", "http://host:99999999/x", "http://host:x/", "///",
     "http://\x7f/", "http://127.0.0.1:0/"],
)  # fmt: skip
def test_a_redirect_to_nowhere_is_a_failed_download(server, cache, monkeypatch, target):
    monkeypatch.setattr(fetch, "ATTEMPTS", 1)

    def answer(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.end_headers()
        handler.close_connection = True

    server.answers = [answer]
    with pytest.raises((DownloadError, ValueError), match=r"TOY"):
        fetch_tu("TOY", cache, server.url)
    gc.collect()
    assert left_in(cache) == []
