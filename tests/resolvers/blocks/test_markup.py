"""What stands twice in a page or in a build file, and what is no XML."""

from __future__ import annotations

import pytest

from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import Refused
from gitprun.resolvers.blocks.markup import find_doubled_ids, find_faults

IDS = (
    ('<p id="a"></p>\n<p id="a"></p>\n', ('the id "a" is there twice',)),
    ("<p class=x id=a></p>\n<b id='a'></b>\n", ('the id "a" is there twice',)),
    ('<p id="a"></p><!-- <p id="a"> -->\n', ()),
    ('<p id="a"></p><template><p id="a"></p></template><script>x = \'<p id="a">\'</script>\n', ()),
    ('<p id="{{ a }}"></p>\n<p id="{{ a }}"></p>\n', ()),
    ('<p data-id="a"></p>\n<p id="a"></p>\n', ()),
)


@pytest.mark.parametrize(("text", "faults"), IDS)
def test_ids(text: str, faults: tuple[str, ...]) -> None:
    assert find_doubled_ids("a.html", text.encode()) == faults


POM = "<project xmlns='http://maven.apache.org/POM/4.0.0'><dependencies>{}</dependencies></project>"
ONE = "<dependency><groupId>a</groupId><artifactId>b</artifactId><version>{}</version></dependency>"
OTHER = "<dependency><groupId>a</groupId><artifactId>b</artifactId><type>test-jar</type></dependency>"
XML = (
    (POM.format(ONE.format(1) + ONE.format(2)), ('the entry "dependency a b" is there twice',)),
    (POM.format(ONE.format(1) + OTHER), ()),
    ("<P><I><R Include='a'/><R Include='a' /></I></P>", ('the entry "R a" is there twice',)),
    ("<P><I><R Include='a'/></I><I><R Include='a'/></I></P>", ()),
    ("<P><I><R Include='a' Version='1'/><R Include='a' Version='2'/></I></P>", ('the entry "R a" is there twice',)),
    (
        "<P><ItemGroup><R Include='a'/></ItemGroup><ItemGroup><R Include='a'/></ItemGroup></P>",
        ('the entry "R a" is there twice',),
    ),
    ("<P><ItemGroup><R Include='a'/></ItemGroup><ItemGroup Condition='x'><R Include='a'/></ItemGroup></P>", ()),
    ("<P><PropertyGroup><A>1</A><B/><A>2</A></PropertyGroup></P>", ('the entry "A of PropertyGroup" is there twice',)),
    ("<P><PropertyGroup><A>1</A><A Condition='x'>2</A></PropertyGroup><PropertyGroup><A/></PropertyGroup></P>", ()),
    ("<project><properties><a>1</a><a>2</a></properties></project>", ('the entry "a of properties" is there twice',)),
    ("<modules><module>a</module><module>a</module></modules>", ('the entry "module a" is there twice',)),
    ("<args><arg>a</arg><arg>a</arg></args>", ()),
    ("<plugins><plugin/><plugin/></plugins>", ()),
    (
        "<resources><string name='a'>1</string><string name='a'>2</string></resources>",
        ('the entry "string a" is there twice',),
    ),
    ("<resources><string name='a'>1</string><string name='a' product='b'>2</string></resources>", ()),
    (
        "<m xmlns:android='http://schemas.android.com/apk/res/android'><p android:name='a'/><p android:name='a'/></m>",
        ('the entry "p a" is there twice',),
    ),
    ("<dict><key>a</key><true/><key>a</key><false/></dict>", ('the entry "key a" is there twice',)),
    ("<P><I><R Include='a'/><R Include='a' Condition='x'/></I></P>", ()),
    ("<a><b></a>", ("the file is not well-formed",)),
    ("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</b>", ()),
    ("<?xml version='1.0' encoding='no-such'?><a/>", ("the file is not well-formed",)),
    ("<a><!-- b --><?c d?></a>", ()),
)


@pytest.mark.parametrize(("text", "faults"), XML)
def test_xml(text: str, faults: tuple[str, ...]) -> None:
    assert find_faults("pom.xml", text.encode()) == faults


def test_what_grows_without_end_is_not_read() -> None:
    rows = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30))
    assert find_faults("a.xml", f"<!DOCTYPE a [<!ENTITY a0 'x'>{rows}]><a>&a29;</a>".encode()) == ()


def test_an_id_that_both_sides_added() -> None:
    base = "<body>\n  <p>a</p>\n  <p>b</p>\n  <p>c</p>\n</body>\n"
    main = base.replace("<body>", '<body>\n  <div id="x"></div>')
    versions = base.encode(), main.encode()
    same, other = (base.replace("</body>", f'  <div id="{name}"></div>\n</body>').encode() for name in "xy")
    assert merge_text(*versions, same, "a.html") == Refused('the id "x" is there twice')
    assert isinstance(merge_text(*versions, other, "a.html"), Merged)


def test_a_file_that_is_broken_already_is_nobodys_fault() -> None:
    base = b"<a>\n<b>\n1\n2\n3\n</a>\n"
    found = merge_text(base, base.replace(b"1", b"one"), base.replace(b"3", b"three"), "a.xml")
    assert isinstance(found, Merged)
