"""What the tests of pictures read out of them."""

import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg):
    return ElementTree.fromstring(svg)


def texts(svg):
    return [element.text for element in parsed(svg).iter(f"{SVG}text")]


def shapes(svg, kind):
    return [element for element in parsed(svg).iter() if kind in element.get("class", "").split()]


def box(element):
    if element.tag == f"{SVG}circle":
        x, y, r = (float(element.get(name)) for name in ("cx", "cy", "r"))
        return (x - r, y - r, x + r, y + r)
    x, y, w, h = (float(element.get(name)) for name in ("x", "y", "width", "height"))
    return (x, y, x + w, y + h)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
