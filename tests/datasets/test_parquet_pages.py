"""Small files that stand for much: refused by the headers of their pages, before these are unpacked."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxwl.datasets import read_parquet
from relaxwl.datasets.parquet_pages import FREE_VALUES, check_pages, read_chunks

# Prints the error, and by how many MiB the peak of memory grew.
PEAK = """
import resource, sys
import pyarrow.parquet
from relaxwl.datasets import read_parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_parquet(sys.argv[1])
except ValueError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def peak(path):
    """Read the file in a process of its own; return what it said and the MiB that it took."""
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PEAK, str(path)], capture_output=True, text=True)
    *said, taken = done.stdout.splitlines()
    return " ".join(said), int(taken)


def one_graph(n_ends, **columns):
    """Return a table of one graph, with as many loops at its one node."""
    ends = pa.array(np.zeros(n_ends, np.int64))
    column = pa.ListArray.from_arrays(pa.array([0, n_ends]), ends)
    edges = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), pa.concat_arrays([column, column]))
    return pa.table({"edge_index": edges, "num_nodes": [1], **columns})


def empty_graphs(number, **columns):
    """Return a table of graphs of one node."""
    edges = pa.array([[[], []]] * number, pa.list_(pa.list_(pa.int64())))
    return pa.table({"edge_index": edges, "num_nodes": [1] * number, **columns})


def varint(number, length=0):
    """Return a number as Thrift writes it, in more bytes than it needs if asked for."""
    number, found = 2 * number, []
    while number or len(found) < max(length, 1):
        found.append(number & 127)
        number >>= 7
    return bytes([*(byte | 128 for byte in found[:-1]), found[-1]])


def lie(path, number, instead):
    """Replace a number of the description at the end of a file."""
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    true, false = varint(number), varint(instead, len(varint(number)))
    assert len(true) == len(false)
    assert true in content[begin:]
    path.write_bytes(content[:begin] + content[begin:].replace(true, false))


@pytest.mark.parametrize("compression", ["zstd", "brotli", "gzip"])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_unpack_to_much_are_refused_before(tmp_path, compression, encoding):
    path = tmp_path / "bomb.parquet"
    table = empty_graphs(400, name=["x" * 10**6] * 400)
    encodings = {"name": encoding, "num_nodes": "PLAIN"}
    pq.write_table(table, path, compression=compression, use_dictionary=["edge_index"], column_encoding=encodings)
    assert path.stat().st_size < 10**6
    said, taken = peak(path)
    assert "bomb.parquet" in said
    assert "its pages would unpack to 381 MiB" in said
    assert "write it anew with pyarrow" in said
    assert taken < 50


@pytest.mark.parametrize("lied", ["unpacked", "values"])
def test_what_the_end_of_a_file_says_is_not_believed(tmp_path, lied):
    path = tmp_path / "bomb.parquet"
    table = empty_graphs(400, name=["x" * 10**6] * 400)
    pq.write_table(table, path, compression="zstd", use_dictionary=["edge_index", "num_nodes"])
    unpacked = read_chunks(path)[1][0][-1].unpacked
    lie(path, *((unpacked, 7) if lied == "unpacked" else (400, 200)))
    assert read_chunks(path)[1][0][-1][5:7] == ((400, 7) if lied == "unpacked" else (200, unpacked))
    said, taken = peak(path)
    assert "its pages would unpack to" in said
    assert taken < 50


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "compression": "brotli"}])
def test_numbers_that_are_far_more_than_the_file_are_refused(tmp_path, options):
    path = tmp_path / "bomb.parquet"
    pq.write_table(one_graph(5 * 10**6), path, **options)
    assert path.stat().st_size < 10_000  # 2,000 by newer versions of Arrow, which write other pages
    said, taken = peak(path)
    assert re.search(r"1 rows of [0-9]{7,8} or more values are too many for a file of", said)
    assert taken < 50
    with pytest.raises(ValueError, match="are too many"):
        next(read_parquet(path, batch_size=1))
    lie(path, 10**7, 6 * 10**6)
    assert "are too many" in peak(path)[0]


@pytest.mark.parametrize("vectors", [False, True])
def test_what_passes_takes_bounded_memory(tmp_path, vectors):
    """As many values as any file may hold."""
    path = tmp_path / "loops.parquet"
    if vectors:
        table = one_graph(1, node_feat=[[[0.5]] * (FREE_VALUES - 10_000)])
        table = table.set_column(1, "num_nodes", [[FREE_VALUES - 10_000]])
    else:
        table = one_graph((FREE_VALUES - 10_000) // 2)
    pq.write_table(table, path)
    assert path.stat().st_size < 2000
    said, taken = peak(path)
    assert said == ""
    assert taken < 200


def test_rows_of_nothing_are_counted(tmp_path):
    path = tmp_path / "bomb.parquet"
    nothing = pa.nulls(10**6, pa.list_(pa.list_(pa.int64())))
    pq.write_table(pa.table({"edge_index": nothing, "num_nodes": np.zeros(10**6, np.int64)}), path)
    with pytest.raises(ValueError, match=r"1000000 rows of .*are too many for a file of"):
        read_parquet(path)


@pytest.mark.parametrize("edges", [[[0], [1]], [[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]])
def test_a_million_graphs_that_are_the_same_are_read(tmp_path, edges):
    """They are packed as well as graphs can be: other files hold fewer values for each of their bytes."""
    path, number = tmp_path / "same.parquet", 10**6
    length = len(edges[0])
    ends = pa.array(np.tile(np.ravel(edges), number))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, len(ends) + 1, length, dtype=np.int32)), ends)
    index = pa.ListArray.from_arrays(pa.array(np.arange(0, 2 * number + 1, 2, dtype=np.int32)), lists)
    atoms = pa.array(np.arange(0, 3 * number + 1, 3, dtype=np.int32))
    labels = pa.ListArray.from_arrays(atoms, pa.array(["C", "N", "O"] * number))
    sizes = np.full(number, 3)
    pq.write_table(pa.table({"edge_index": index, "num_nodes": sizes, "node_label": labels, "y": sizes % 2}), path)
    n_rows, groups = read_chunks(path)
    found = check_pages(path, n_rows, [chunk for group in groups for chunk in group])
    assert found == len(ends) + 5 * number
    graphs, _ = next(read_parquet(path, batch_size=100, edge_form="lists"))
    assert len(graphs) == 100


def test_words_of_a_fixed_width_are_counted(tmp_path):
    path = tmp_path / "bomb.parquet"
    wide = pa.array([b"x" * 10**6] * 400, pa.binary(10**6))
    pq.write_table(empty_graphs(400, name=wide), path)
    with pytest.raises(ValueError, match=r"its texts would take up to 381 MiB"):
        read_parquet(path)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_words_of_all_compressions_are_measured(tmp_path, compression, version):
    path = tmp_path / "named.parquet"
    names = [f"net {'x' * (number % 50)}" for number in range(20_000)]
    table = empty_graphs(len(names), name=names)
    pq.write_table(table, path, compression=compression, data_page_version=version, row_group_size=5000)
    n_rows, groups = read_chunks(path)
    assert check_pages(path, n_rows, [chunk for group in groups for chunk in group]) == 4 * len(names)
    table = empty_graphs(len(names), name=["x" * 10**5, *names[1:]])
    pq.write_table(table, path, compression=compression, data_page_version=version)
    with pytest.raises(ValueError, match="its texts would take up to 19"):
        read_parquet(path)


def test_columns_that_share_pages_are_counted_each(tmp_path):
    """A page costs time and memory as often as it is read."""
    path = tmp_path / "shared.parquet"
    pq.write_table(one_graph(400_000), path)
    n_rows, groups = read_chunks(path)
    assert check_pages(path, n_rows, groups[0]) == 800_001
    with pytest.raises(ValueError, match="are too many for a file of"):
        check_pages(path, n_rows, 3 * groups[0])


def test_long_statistics_are_read_over(tmp_path):
    path = tmp_path / "long.parquet"
    pq.write_table(empty_graphs(1, name=["x" * 4000]), path, write_statistics=True, use_dictionary=False)
    assert read_parquet(path)[0].names == ("x" * 4000,)


def test_pages_outside_of_the_file_are_refused(tmp_path):
    path = tmp_path / "graphs.parquet"
    pq.write_table(empty_graphs(3), path)
    n_rows, groups = read_chunks(path)
    chunk = groups[0][0]
    for begin, end in ((-1, 10), (10**6, 10**6 + 1), (100, 10)):
        with pytest.raises(ValueError, match="lies outside of the file"):
            check_pages(path, n_rows, [chunk._replace(begin=begin, end=end)])
    with pytest.raises((ValueError, LookupError)):
        check_pages(path, n_rows, [chunk._replace(begin=chunk.begin + 3)])
