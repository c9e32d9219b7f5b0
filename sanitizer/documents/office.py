"""Word and PowerPoint files: every text of every part, whatever the part is for.

Libraries for these formats read the body and little else; headers, footnotes, comments, deleted
text and properties hold names too. So the packed XML is read as such: text of a known kind is a
piece, properties are removed, and anything else that may tell something refuses the document.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from lxml import etree

from sanitizer.documents.files import (
    MAX_BYTES,
    Document,
    Piece,
    check_images,
    refused,
    target_pieces,
)
from sanitizer.errors import PolicyError

_TEXTS = frozenset({"t", "delText", "instrText", "delInstrText", "text"})
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "p": "\n", "cm": "\n"}
_SETTINGS = frozenset(
    {"posOffset", "align", "pctWidth", "pctHeight", "sizeRelH", "sizeRelV", "tableStyleId"}
)
"""Elements whose text is layout."""
_CLEARED = {"author": "author", "initials": "a", "lastModifiedBy": ""}
_EMPTIED = frozenset({"descr", "title", "tooltip", "string", "alt", "userId", "providerId"})
_UNNAMED = frozenset({"docPr", "cNvPr"})
_REMOVED = frozenset({"docVars", "docVar", "alias", "tag", "rsids", "mailMerge", "custDataLst"})
_LAYOUT = re.compile(
    r"(.*/)?(theme/.*|styles|stylesWithEffects|fontTable|webSettings|tableStyles|numbering"
    r"|viewProps|presProps)(\d*\.xml)?"
)
_TEMPLATES = re.compile(r"ppt/(slideLayout|slideMaster|notesMaster|handoutMaster)s/[^/]+")
_PROMPTS = frozenset(Path(__file__).with_name("template_texts.txt").read_text("utf-8").splitlines())
"""What the program itself writes into layouts; nothing of the author's, so it is no text."""
_IMAGES = re.compile(r"(.*/)?media/[^/]+\.(png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.I)
_GONE = re.compile(r"docProps/.*(?<!\.xml)|(.*/)?printerSettings/[^/]+")
"""Parts that are left out: a picture of the first page, names of printers."""
_CONTENTS = "[Content_Types].xml"
_PLAIN = (_CONTENTS, ".odttf", ".fntdata")
"""Ends of parts without text: the table of contents, and fonts."""
_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def read(path: Path, images: bool) -> Document:
    """Read a .docx or .pptx file; see `open_document`."""
    parts = _unpacked(path)
    check_images(sum(1 for name in parts if _IMAGES.fullmatch(name)), images)
    trees: dict[str, Any] = {}
    pieces: list[Piece] = []
    gone = {name for name in parts if _GONE.fullmatch(name)}
    for name in sorted(parts.keys() - gone, key=_order):
        if name.startswith("docProps/"):
            trees[name] = _parsed(parts[name])
            trees[name][:] = []
        elif name.endswith(".rels"):
            trees[name] = _parsed(parts[name])
            pieces += _links(trees[name], name, gone)
        elif name.endswith((".xml", ".vml")) and name != _CONTENTS:
            trees[name] = _parsed(parts[name])
            prompts = _prompts(trees[name]) if _TEMPLATES.fullmatch(name) else frozenset()
            pieces += _texts(trees[name], bool(_LAYOUT.fullmatch(name)), prompts)
        elif not (_IMAGES.fullmatch(name) or name.endswith(_PLAIN)):
            raise refused("an embedded object, a macro or a sound")

    def write(to: Path) -> None:
        for name, tree in trees.items():
            form = {"xml_declaration": True, "encoding": "UTF-8", "standalone": True}
            parts[name] = etree.tostring(tree, **form)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in parts.keys() - gone:
                packed.writestr(name, parts[name])

    return Document(pieces, write, path.suffix.lower())


def _order(name: str) -> tuple[bool, str, int, str]:
    """Return a key that puts the contents first and numbered parts such as slides in order."""
    number = re.search(r"(\d+)\.xml", name)
    stem = re.sub(r"\d+\.xml.*", "", name)
    is_body = re.search(r"document\.xml$|/slides/slide", name) is not None
    return not is_body, stem, int(number[1]) if number else 0, name


def _unpacked(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(BytesIO(path.read_bytes())) as packed:
            if sum(info.file_size for info in packed.infolist()) > 4 * MAX_BYTES:
                raise PolicyError("the document is too large when unpacked")
            files = (info for info in packed.infolist() if not info.is_dir())
            return {info.filename: packed.read(info) for info in files}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
        raise PolicyError("the document is damaged, encrypted or of another format") from None


def _parsed(content: bytes) -> Any:
    # No entities and no network: a document must not read other files.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        raise PolicyError("the document is damaged") from None


def _prompts(root: Any) -> frozenset[Any]:
    """Return the paragraphs of a layout that the program wrote, and what is in them.

    Dates that it computes are emptied: they tell when the file was saved, and are computed anew.
    """
    found: set[Any] = set()
    for computed in root.iter("{*}fld"):
        if computed.get("type", "").startswith("datetime"):
            for each in computed.iter("{*}t"):
                each.text = ""
    for paragraph in root.iter("{*}p"):
        if "".join(each.text or "" for each in paragraph.iter("{*}t")) in _PROMPTS:
            found.update(paragraph.iter())
    return frozenset(found)


def _texts(root: Any, is_layout: bool, prompts: frozenset[Any]) -> Iterator[Piece]:
    """Yield the texts of one part, but for `prompts`, and clear what tells of its authors."""
    for element in list(root.iter("*")):
        if element.getparent() is not None and etree.QName(element).localname in _REMOVED:
            element.getparent().remove(element)
    for element in root.iter("*"):
        name = etree.QName(element).localname
        _clear(element, name)
        if element in prompts:
            continue
        if name in _BREAKS and not is_layout and not _is_setting(element):
            yield Piece(_BREAKS[name])
        if not (element.text or "").strip() and name not in _TEXTS:
            continue
        if name in _TEXTS:
            yield Piece(element.text or "", partial(_put, element))
        elif not (is_layout or name in _SETTINGS):
            raise refused("a chart, a form or other data in a part that is not read")
    if not is_layout:
        yield Piece("\n")


def _is_setting(element: Any) -> bool:
    """Return True for a tab stop among the settings of a paragraph."""
    parent = element.getparent()
    return parent is not None and etree.QName(parent).localname == "tabs"


def _put(element: Any, text: str) -> None:
    element.text = text
    if text != text.strip():
        element.set(_SPACE, "preserve")


def _clear(element: Any, name: str) -> None:
    """Remove what attributes tell of authors, and what images and links are called."""
    for key in element.attrib:
        local = etree.QName(key).localname
        if local in _CLEARED:
            element.set(key, _CLEARED[local])
        elif local in _EMPTIED or (local == "name" and name in _UNNAMED):
            element.set(key, "")


def _links(root: Any, name: str, gone: set[str]) -> Iterator[Piece]:
    """Yield the targets outside the document, which may be addresses.

    Links of the part to parts which are left out are removed.
    """
    folder = posixpath.dirname(posixpath.dirname(name))
    for link in list(root.iter(_LINK)):
        target = link.get("Target", "")
        if posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/") in gone:
            root.remove(link)
        elif link.get("TargetMode") == "External":
            yield from target_pieces(target, partial(link.set, "Target"))
