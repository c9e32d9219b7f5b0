"""Stretches that stay for what is written: names of code, standards, laws, moves, abbreviations.

Everything here is a function of a stretch's own characters, of fixed lists, and of punctuation and
visible words beside it: whether one stays moves nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sanitizer.detect.classes import given_names, known_to_all
from sanitizer.detect.skeleton import FOREIGN, PublicForms, foreign_words
from sanitizer.text import NAME_PARTS, TAGS, Piece, Unit, is_code_word, merged, overlapping

_SHORT_PART = 3  # letters or digits of a part of a class's name that may be an abbreviation
_DATA = frozenset(["csv", "json", "yaml", "toml"])
_LEAST_FOREIGN = 3  # letters of a word of another language
_LEAST_SWAPPED = 4  # letters of a name of code in which two may be swapped
_DESIGNATIONS = (
    # ciphers, encodings, protocols
    r"SHA-?(?:1|2|3|224|256|384|512)|SHA3-[0-9]{3}|MD5|AES-?(?:128|192|256)(?:-[A-Z]{3})?",
    r"RSA-?[1-4][0-9]{3}|(?:HS|RS|ES)(?:256|384|512)|CRC-?(?:8|16|32|64)|Base-?(?:16|32|64)",
    r"UTF-?(?:8|16|32)(?:LE|BE)?|ISO-8859-[0-9]{1,2}|Windows-125[0-9]|CP125[0-9]",
    r"(?:ISO(?:/IEC)?|IEC|IEEE|RFC|EN|DIN(?: EN)?(?: ISO)?)[ -]?[0-9]{3,5}"
    r"(?:[.-][0-9]{1,2}[a-z]{0,2})?",
    r"SOC ?[123]|HTTP/[123](?:\.[01])?|TLS ?v?1\.[0-3]|SSL ?v?[23](?:\.0)?",
    r"IPv[46]|OAuth ?[12](?:\.0)?",
    r"(?:Roth|SEP|SIMPLE|[Tt]raditional|[Rr]ollover|[Ii]nherited) IRAs?",
    # machines and media
    r"Wi-?Fi(?: [4-7]E?)?|Bluetooth [4-6](?:\.[0-9])?|USB[ -]?(?:[ABC]|[123](?:\.[012])?)|[2-6]G",
    r"HDMI [12]\.[0-4]|DDR[3-5]|PCIe? [3-6](?:\.0)?|(?:240|360|480|720|1080|1440|2160)[pi]",
    r"H\.26[3-6]|(?:16|21):9|4:3|MP[34]|MPEG-[124]|x86(?:[-_]64)?|(?:arm|ARM|amd|AMD)64",
    r"(?:Core )?i[3579](?:-[0-9]{4,5}[A-Z]{0,2})?|Ryzen [3579]|[RG]TX [0-9]{3,4}|PS[1-5]|[1-4]D",
    r"M[1-9][0-9]?(?: ?x ?[0-9]{1,3})?(?= (?:bolts?|screws|nuts?|threads?)\b)|"
    r"M[1-9][0-9]? ?x ?[0-9]{1,3}",
    r"[0-9]{1,5}(?:\.[0-9])?(?:V|W|mAh|Ah|[kMG]?Hz|dB|[KMG]bps|dpi|MP|nm)",
    r"[pP] ?[<>=] ?0?\.[0-9]{1,4}|F1(?=(?: |-)(?:score|of|measure)s?\b)",
    r"GPT-[2-5](?:\.[0-9])?o?(?: (?:mini|turbo))?|24/7",
    r"A[0-6](?= (?:paper|page|sheet|size|format|poster|landscape|portrait)s?\b)",
    r"50/30/20|[1-9]0/[1-9]0(?= (?:split|rule|principle|ratio))|[0-9]{1,4}(?:px|r?em|v[hw]|pt)",
    r"(?<=form )[A-Z]{1,3}-?[0-9]{1,4}[A-Z]?|(?<=forms )[A-Z]{1,3}-?[0-9]{1,4}[A-Z]?",
    r"U[0-9]{1,2}s?(?= (?:football|soccer|rugby|hockey|cricket|boys|girls|teams?|squad|league))",
    # programs
    r"error\[E0[0-9]{3}\]|E0[0-9]{3}(?=\])|C\+\+(?:[0-9]{2})?|C#|F#|ES[56]|HTML5|CSS3|NaN|ORA-[0-9]{5}|TS[0-9]{4}|CS[0-9]{4}",
    r"SIG(?:ABRT|BUS|CHLD|FPE|HUP|ILL|INT|KILL|PIPE|SEGV|STOP|TERM|TRAP|USR[12])",
    r"E(?:CONN(?:REFUSED|RESET|ABORTED)|NOENT|ACCES|PERM|TIMEDOUT|ADDRINUSE|NOTFOUND|PIPE|XIST)",
    r"[1-5]xx|(?:SQL|ORA|HTTP)[ -]?[0-9]{3,5}",
    r"E(?:ISDIR|NOTDIR|MFILE|NOMEM|NOSPC|INVAL|AGAIN|HOSTUNREACH|RESOLVE)",
    r"(?<=[ \t])-[a-z]{1,3}(?=[ \t]+\S)|SQLSTATE[ \[=:]{1,2}[0-9A-Z]{5}",
    r"#(?=[0-9]*[A-Fa-f])(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})",
    r"(?:rgba?|RGBA?|hsla?|HSLA?)\([0-9 ,.%/]{5,30}\)",
    r"(?:alpine|debian|golang|httpd|mongo|mysql|nginx|node|postgres|python|redis|ubuntu):"
    r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,2}(?:-[a-z]+[0-9.]*)?",
    r"(?<=English )[ABC][12]|(?<=(?:German|French|Polish|Danish) )[ABC][12]|"
    r"(?<=(?:Spanish|Italian|Russian|Turkish|Chinese|Swedish) )[ABC][12]|"
    r"(?<=level )[ABC][12]|[ABC][12](?=(?:[ -]level)? "
    r"(?:level|English|German|French|Spanish|Italian|exam|course|certificate))",
    # matter and food
    r"CO2|H2O|N2O|NO2|SO2|O2|O3|CH4|NH3|NH4|H2SO4|HNO3|HCl|NaCl|NaOH|CaCO3|H2O2|Fe2O3|C6H12O6",
    r"[Oo]mega-[369]|[Vv]itamin [ABCDEK][0-9]{0,2}",
    r"(?:[mnp\u00b5\u03bc]?(?:mol|g|IU|U|Eq|kat)|cells|mmHg|kPa)/(?:[dmu\u00b5\u03bc]?[lL]|kg|m2|m\u00b2)",
    r"[\u00b5\u03bc](?:mol|g|l|L|m|s)|mmHg|kPa|mEq|mIU|u(?:mol|g|IU)/(?:m?[lL]|d[lL])|"
    r"(?<=[0-9] )(?:fL|pg)",
    r"ICD-(?:9|10|11)(?:-(?:CM|PCS|GM))?|DSM-(?:[345]|IV|III)(?:-TR)?",
    # laws and forms
    r"Art(?:icle|ikel|\.) ?[0-9]{1,3}(?: ?\([0-9a-z]\)){0,3}(?: (?:GDPR|DSGVO|GG|ECHR|TFEU|EMRK))?",
    r"\u00a7{1,2} ?[0-9]{1,4}[a-z]?(?:\.[0-9]{1,2}){0,2}(?: (?:Abs\.|Absatz) ?[0-9]{1,2})?"
    r"(?: (?:AGG|ArbZG|BetrVG|BGB|BUrlG|DSGVO|EFZG|EStG|GG|HGB|InsO|KSchG|"
    r"SGB(?: [IVX]{1,4})?|StGB|StPO|StVO|TzBfG|UStG|VwGO|WEG|ZPO))?",
    r"Directive (?:\([A-Z]{2}\) )?[0-9]{2,4}/[0-9]{1,4}(?:/(?:EC|EU|EEC))?",
    r"Regulation \((?:EU|EC)\) (?:No\.? )?[0-9]{2,4}/[0-9]{2,4}",
    r"Pages? [0-9]{1,4}(?: of [0-9]{1,4})?|Title [IVX]{1,4}|Rule [0-9]{1,3}",
    r"Schedule (?:[A-F]|SE|K-1)",
    r"[0-9]{1,2} (?:U\.S\.C\.|USC|CFR) \u00a7{0,2} ?[0-9]{1,4}",
    r"(?:[Ff]orm )?(?:W-[0-9][A-Z]{0,3}|1099(?:-[A-Z]{1,4})|1040(?:-[A-Z]{2})|I-[0-9]{1,3}[A-Z]?)",
    # letters with dots
    r"Ph\. ?D|[BM]\.(?:Sc|A|Ed|Eng)|LL\.[BM]|U\.S(?:\.A)?|U\.K|E\.U|U\.N|P\.(?:P\.)?S|N\.B",
    r"A ?[-\u2013] ?Z|A to Z|a-z|0-9|R\.S\.V\.P|i\.e|e\.g|a\.k\.a|w\.r\.t|a\.s\.a\.p",
)
_DESIGNATION = re.compile(rf"(?<![\w.#])(?<!\w-)(?:{'|'.join(_DESIGNATIONS)})(?!\w|-\w)")
"""Designations that tell of nobody: standards, versions, laws, colours, formulas of matter."""
_SEQUENCE = re.compile(
    r"(?m)^[ \t]*[0-9]{1,6}(?:, ?[0-9]{1,6}){2,20}, ?(?:\.\.\.|\u2026|\?|_+)[ \t]*$"
)
"""A line of numbers that is to be continued."""
_MOVE = r"(?:[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)[+#!?]{0,2}"
_MOVES = re.compile(
    rf"(?<!\w)1\. ?{_MOVE}(?: {_MOVE})?(?: [1-9][0-9]?\. ?{_MOVE}(?: {_MOVE})?)*(?!\w)"
)
"""Moves of a game of chess from its first."""
_CHORD = r"[A-G](?:#|b)?(?:maj|min|m|dim|aug|sus|add)?[0-9]{0,2}(?:/[A-G](?:#|b)?)?"
_CHORDS = re.compile(rf"(?<!\w){_CHORD}(?:(?: ?[|,-] ?| ){_CHORD}){{2,40}}(?![\w#])")
_CHORD_TOLD = re.compile(r"[A-G](?:#|b)?(?:maj|min|m|dim|aug|sus|add|7|9)")
"""Three chords or more, and one that is told by more than a letter."""
_DECLARATION = re.compile(
    r"(?<![\w-])(?:align-[a-z]+|animation[a-z-]*|background[a-z-]*|border[a-z-]*|bottom|"
    r"box-shadow|color|"
    r"column[a-z-]*|content|cursor|display|fill|flex[a-z-]*|float|font[a-z-]*|gap|grid[a-z-]*|"
    r"height|"
    r"inset|justify-[a-z]+|left|letter-spacing|line-height|list-style[a-z-]*|margin[a-z-]*|"
    r"max-(?:height|width)|min-(?:height|width)|object-fit|opacity|order|outline[a-z-]*|"
    r"overflow[a-z-]*|"
    r"padding[a-z-]*|position|right|stroke[a-z-]*|text-[a-z]+|top|transform[a-z-]*|"
    r"transition[a-z-]*|"
    r"visibility|white-space|width|z-index) ?: ?(?P<value>[^;{}\"'<>\n]{1,80})(?=;|\}|[\"']|\n)"
)
_MEASURE = re.compile(
    r"(?<![\w#])(?:-?(?:[0-9]{1,4}(?:\.[0-9]{1,3})?|\.[0-9]{1,3})"
    r"(?:px|r?em|%|v[hw]|fr|ms|s|deg|pt|ch)?|#[0-9A-Fa-f]{3,8})(?!\w)"
)
"""A declaration of a style sheet; what measures and colours in it."""
_CLASSES = re.compile(r"\bclass(?:Name)?=[\"'](?P<value>[^\"'<>{}\n]{1,400})[\"']")
_CLASS_PART = re.compile(r"[A-Za-z]+|[0-9]+")
"""The classes of a tag, and the parts of their names."""
_FENCE = re.compile(
    r"(?m)^[ \t>]*(?:```|~~~)[ \t]*(python|py|pycon|javascript|js|jsx|typescript|ts|tsx|json|jsonc|"
    r"yaml|yml|toml|ini|csv|tsv|sql|bash|sh|shell|zsh|console|powershell|html|xml|svg|css|scss|vue|"
    r"svelte|java|kotlin|scala|swift|go|rust|ruby|php|perl|lua|r|c|cpp|csharp|cs|dockerfile|make|"
    r"diff|text|txt|log|markdown|md|latex|graphql|proto|nginx|http)\b"
)
"""Beginning of a fenced block that names its language; the name stays."""
_STANDARD = re.compile(
    r"\b(?:java|javax|jdk|sun|kotlin|scala|System|Microsoft|androidx?|"
    r"org\.(?:springframework|apache|hibernate|junit|postgresql)|com\.(?:google|fasterxml|sun))"
    r"(?:[./$][A-Za-z_][A-Za-z0-9_]*){2,}"
)
_ZONE = re.compile(
    r"(?<![\w/.-])(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)"
    r"/[A-Z][A-Za-z_]+(?![\w/]|\.\w)"
)
"""The name of a time zone."""
_SIZE = re.compile(
    r"(?<![\w.-])(?:db\.|cache\.)?[a-z][0-9][a-z]{0,3}\."
    r"(?:nano|micro|small|medium|large|[0-9]{0,2}xlarge|metal)(?![\w.-])"
)
_EVERY_HOST = re.compile(
    r"(?<![\w.])(?:0\.0\.0\.0|127\.0\.0\.1|255\.255\.255\.[0-9]{1,3})(?::[0-9]{2,5})?(?![\w.])"
)
"""The size of a rented machine, such as "t3.micro"; addresses that every machine has."""
_LEGAL_FORM = re.compile(
    r"(?<![\w.])[A-Z][\w&'-]{2,40} "
    r"(B\.V|N\.V|S\.p\.A|S\.r\.l|S\.A\.S|S\.L\.U|e\.V|d\.o\.o|z o\.o)(?!\w)"
)
"""The legal form behind a firm's name."""
_HEADER = re.compile(
    r"(?<![\w-])(?P<x>X-)(?P<names>[A-Z][A-Za-z0-9]*(?:-[A-Z][A-Za-z0-9]*){0,4})(?![\w-])"
)
_HEADER_PART = re.compile(r"[A-Za-z0-9]+")
"""A field of HTTP's own making, such as "X-Api-Key", and the parts of its name."""
_FORMULA = re.compile(r"=[A-Z]{2,20}\((?:[^()\n]|\((?:[^()\n]|\([^()\n]{0,99}\)){0,99}\)){0,199}\)")
_IN_FORMULA = re.compile(
    r"(?<![\w'\"])(?:(?P<function>[A-Z]{2,20})(?=\()|TRUE|FALSE|Sheet[0-9]+|[A-Z]{1,2}[0-9]{1,4}|"
    r"[A-Z]{1,2}(?=:)|(?<=:)[A-Z]{1,2}|[0-9]{1,2})(?![\w'\"])"
)
_CELLS = re.compile(r"(?<![\w$.])\$?[A-Z]{1,2}\$?[0-9]{1,5}:\$?[A-Z]{1,2}\$?[0-9]{1,5}(?!\w)")
_CELL_ERROR = re.compile(r"#(N/A|REF|VALUE|NAME|DIV/0)(?![A-Za-z])")
"""A formula of a spreadsheet; its functions, cells, columns and switches; what a cell shows."""
_AMPERSAND = re.compile(r"(?<![\w&])[A-Z]{1,3}&[A-Z]{1,2}s?(?![\w&])")
"""An abbreviation such as "Q&A", or a firm's name."""
_LETTERS = re.compile(r"[A-Za-z]+")
_SEGMENT = re.compile(r"[A-Za-z0-9_]+")
"""A name of a public library in a stack trace, such as "java.lang.Double"; its parts."""
_FRAMED = re.compile(r"\(([A-Za-z]+)\.(?:java|kt|scala|cs|groovy):[0-9]+\)")
"""The file of a stack trace's line."""

_FAULT = re.compile(
    r"\b(?:fault|[Ee]rror|ERROR|alarm|trouble|fehler)(?: codes?)?:? "
    r"(?P<code>[A-Z]{1,3}-?[0-9]{1,4})(?![\w-])"
)
"""The code of a fault that a machine reports; it stays wherever it occurs."""
_EPONYM = re.compile(
    r"(?<![\w-])(?:Gantt|Pareto|Venn|Likert|Ishikawa|Sankey|Kaplan-Meier|Cornell|Eisenhower|Fibonacci|"
    r"(?:Bloom|Maslow|Porter|Kotter|Tuckman|Newton|Ohm|Hooke|Moore|Murphy|Euler|Bayes|Kepler|Boyle)'s?|"
    r"Pythagor(?:as'?|ean)|Bayes|Monte Carlo|Markov|Gaussian|Poisson|Laplace|Fourier|Riemann|"
    r"Taylor|Nash)"
    r"(?= (?:charts?|views?|diagrams?|scales?|notes?|matrix|sequence|numbers?|hierarchy|taxonomy|"
    r"laws?|principle|theorem|rule|simulations?|methods?|equilibrium|transform|"
    r"distribution|series|integral|formula|chains?|process(?:es)?)\b)"
)
"""Charts, laws and methods that are called by somebody's name."""
_CODED_LIKE = re.compile(
    r"\b(?:like|as|match(?:es|ing)?|not|or|and|accepts?|rejects?|format)"
    r"(?: also)?:? [\"'`]?"
    r"(?P<code>[A-Z]{2,4}(?:[-/][0-9]{2,8}){1,3}(?:-[A-Z])?)(?![\w-])"
)
_OF_PATTERN = re.compile(r"(?<![\w-])[A-Z]{2,5}(?=[-/_:]?(?:\\d|\[0-9|\[A-Z))")
_PATTERN_ASKED = re.compile(r"(?<!\w)(?:[Rr]egex|REGEX|regular expression)(?!\w)")
"""A number that shows a form, its letters in a regular expression, and what asks for one: "a regex
that matches INV-2024-00123"."""
_LAW = re.compile(
    r"(?<![\w-])(?:[A-Z][a-z]{1,20}(?:'s)?(?:,? (?:and|of|or|to|for|the|in|etc\.?)){0,2} |"
    r"\([A-Z][A-Za-z' ]{2,40}\) ){1,7}"
    r"(?:Act|Acts|Regulations?|Order|Rules|Code|Convention|Directive|Ordinance|Statute|Bill)"
    r"(?: \([A-Z][A-Za-z ]{2,30}\))?(?: (?:of )?(?:1[6-9]|20)[0-9]{2})?(?![\w-])"
)
"""The name of a law: "the Consumer Rights Act 2015"; a name of a person in it is on no list."""

_TAG = re.compile(
    rf"(?<=<)(?:{'|'.join(sorted(TAGS))})(?=[\s/>])|(?<=</)(?:{'|'.join(sorted(TAGS))})(?=>)"
)
_EXTENSION = re.compile(
    r"(?<=[\w-]\.)(?:rs|tf|tfvars|hcl|ipynb|jsx|tsx|scss|csproj|sln|gradle|hpp|mjs|cfg|psm?1|rst|adoc|proto|"
    r"toml|lock|env|mdx|vue|svelte|jl|ex|exs|erl|hs|ml|fs|vb|vba|xlsm|bak|plist)(?![\w.-])"
)
_CRON = re.compile(
    r"(?<![\w*])(?=[0-9/, -]{0,20}[*?])(?:[0-9*?/,-]{1,10} ){4,5}[0-9*?/,A-Z#L-]{1,12}(?![\w*])"
)
_TESTS = re.compile(
    r"\bTests run: [0-9]{1,6}, Failures: [0-9]{1,6}, Errors: [0-9]{1,6}, Skipped: [0-9]{1,6}|"
    r"\b[0-9]{1,6} (?:passed|failed|skipped|xfailed|deselected|errors?|warnings?)\b(?=,| in | \()|"
    r"\bexpected:? <-?[0-9.]{1,12}> but was:? <-?[0-9.]{1,12}>"
)
_LETTERS_LISTED = re.compile(
    r"(?<=[\"'])[A-Z](?=[\"'], ?[\"'][A-Z][\"'])|(?<=, [\"'])[A-Z](?=[\"'])|"
    r"(?<=,[\"'])[A-Z](?=[\"'])"
)
_MATRIX = re.compile(
    r"(?<=\b[A-Za-z] = )\[(?:-?[0-9]{1,3}(?:\.[0-9]{1,3})?[ ,;]{1,2}){1,40}"
    r"-?[0-9]{1,3}(?:\.[0-9]{1,3})?\]|"
    r"\[[0-9]{1,4}\.\.[0-9]{0,4}\]"
)
_COLUMNS = re.compile(r"(?<=\\begin\{tabular\}\{)[lrcp|@ ]{1,20}(?=\})")
_INCLUDED = re.compile(r"#include <(?P<name>[\w/]{1,40}?)(?:\.hp?p?)?>")
_PARTS = re.compile(
    r"(?<![\w-])(?:DHT(?:11|22)|ESP(?:8266|32)|LM35|LM78[0-9]{2}|LM317|BM[EP][0-9]{3}|MPU-?6050|HC-SR04|SG90|NE555|"
    r"ATmega[0-9]{2,4}P?|L29[38][ND]|WS281[0-9]B?|SSD1306|RC522|PN532|NRF24L01|MAX7219|DS18B20|1N4(?:148|007)|"
    r"2N[0-9]{4}|BC5[0-9]{2}|IRF[0-9]{3,4}N?|TIP1[0-9]{2}|MCP[0-9]{4}|ADS1115|PCA9685)(?!\w)"
)
_AWK = re.compile(r"(?<!\w)awk(?!\w)")
_OF_AWK = re.compile(
    r"\$(?:[0-9]{1,2}|NF)(?![\w.,]?[0-9])|(?<=awk )-F(?=\S)|\b(?:NR|NF|FS|OFS|RS|FILENAME)\b"
)
_LABEL = re.compile(
    r"\b(?P<what>(?i:applicant|bidder|bank|candidate|car|city|client|company|country|customer|employee|"
    r"flat|fund|group|house|machine|model|offer|patient|person|product|project|school|site|store|"
    r"supplier|team|tenant|vendor|version)) (?P<one>[A-F])(?![\w'-]|\.\w)"
)
"""One of several that a text tells apart by letters: "Flat A" and "Flat B"."""
_DIRECTORY = re.compile(r"(?<!\w)(?:OU|DC|CN|UID)(?==)")
_FORMAT = re.compile(
    r"(?<![\w-])(?:(?:YYYY|YY|yyyy|yy|MM|mm|MMM|DD|dd|JJJJ|TT|AAAA|JJ|HH|hh|ss)"
    r"(?:[-/.: T]|, )?){2,6}(?![\w])"
)
_HOLIDAY = re.compile(
    r"\b(?:New Year['\u2019]s (?:Eve|Day)|Christmas (?:Eve|Day)|Boxing Day|Black Friday|"
    r"Palm Sunday|(?:Valentine|Mother|Father)['\u2019]s Day|Good Friday|Bonfire Night|"
    r"Easter (?:Sunday|Monday)|Ash Wednesday|Remembrance (?:Sunday|Day)|"
    r"(?:Independence|Labou?r|Memorial) Day)\b"
)
_UNION = re.compile(r"(?<=[\"'])[A-Z]{2}(?=[\"'] ?\|)|(?<=\| [\"'])[A-Z]{2}(?=[\"'])")
"""Stretches of programs: tags, ends of names of files, times of cron, what a test reports, columns
of a table in LaTeX, public headers, parts of circuits, fields of a directory, choices of two
letters; how dates are to be written; and holidays, which are days of everybody."""

_SHAPES = (
    _FORMAT,
    _HOLIDAY,
    _LETTERS_LISTED,
    _MATRIX,
    _TAG,
    _EXTENSION,
    _CRON,
    _TESTS,
    _COLUMNS,
    _PARTS,
    _DIRECTORY,
    _UNION,
    _EPONYM,
    _ZONE,
    _SIZE,
    _EVERY_HOST,
    _DESIGNATION,
    _SEQUENCE,
    _MOVES,
)


def public_code(
    text: str, forms: PublicForms, taken: Sequence[Unit], parts: Sequence[Piece]
) -> list[tuple[int, int]]:
    """Return the stretches of code that stay: keywords, tags, and names of known words alone.

    Which stretches are code follows from layout, punctuation and keywords; a name such as
    "salary_per_month" stays if each of its words is on a list.
    """
    hidden = [(unit.start, unit.end) for unit in taken]
    found = [tag.span(1) for tag in _FENCE.finditer(text)]
    foreign: set[str] = set()
    for piece in parts:
        name = text[piece.start : piece.end]
        stays = piece.role in ("keyword", "tag") or (
            piece.role == "name" and (is_code_word(name, piece) or _is_known(name, forms))
        )
        if not stays and piece.role == "name" and piece.language in _DATA and _is_foreign(name):
            foreign.add(name)
            stays = True
        if stays:
            found.append((piece.start, piece.end))
    for name in foreign:  # a column that the text speaks of
        spoken = re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
        found += [each.span() for each in spoken]
    for path in _STANDARD.finditer(text):
        begins = (part.span() for part in _SEGMENT.finditer(text, *path.span()))
        found += [span for span in begins if _is_known(text[slice(*span)], forms)]
    found += [each.span() for shape in _SHAPES for each in shape.finditer(text)]
    found += [each.span() for each in _CHORDS.finditer(text) if _CHORD_TOLD.search(each.group())]
    found += [prefix.span() for prefix in _OF_PATTERN.finditer(text)]
    found += _told_elsewhere(without(text, taken))
    for law in _LAW.finditer(text):
        words = [word for word in _LETTERS.findall(law.group()) if word[0].isupper()]
        if len(words) > 1 and all(map(forms.listed, words)):
            found.append(law.span())
    found += [*_styles(text), *_classes(text, forms), *_headers(text, forms)]
    short = known_to_all("abbreviations")
    found += [each.span() for each in _AMPERSAND.finditer(text) if each.group() in short]
    found += [cells.span() for cells in _CELLS.finditer(text)]
    found += [shown.span(1) for shown in _CELL_ERROR.finditer(text)]
    for formula in _FORMULA.finditer(text):
        named = _IN_FORMULA.finditer(text, *formula.span())
        functions = known_to_all("functions")
        found += [part.span() for part in named if (part["function"] or "SUM") in functions]
    found += [form.span(1) for form in _LEGAL_FORM.finditer(text)]
    found += [file.span(1) for file in _FRAMED.finditer(text) if _is_known(file[1], forms)]
    return [span for span in merged(sorted({*found})) if not overlapping(hidden, *span)]


def without(text: str, taken: Sequence[Unit]) -> str:
    """Return the text with the stretches taken already blanked: they must not decide about
    others."""
    parts: list[str] = []
    at = 0
    for unit in taken:
        parts += [text[at : unit.start], " " * (unit.end - unit.start)]
        at = unit.end
    return "".join([*parts, text[at:]])


def _told_elsewhere(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches that stay because of another one that stays: examples of a pattern, labels
    such as "Flat A" beside "Flat B", fields of awk, what a header defines, codes of faults."""
    if _PATTERN_ASKED.search(text):
        yield from (shown.span("code") for shown in _CODED_LIKE.finditer(text))
    labels = list(_LABEL.finditer(text))
    told = {(each["what"].lower(), each["one"]) for each in labels}
    several = Counter(what for what, _ in told)
    yield from (each.span() for each in labels if several[each["what"].lower()] > 1)
    if _AWK.search(text):
        yield from (each.span() for each in _OF_AWK.finditer(text))
    for name in {each["name"] for each in _INCLUDED.finditer(text)}:
        used = re.finditer(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", text)
        yield from (each.span() for each in used)
    for code in {fault["code"] for fault in _FAULT.finditer(text)}:
        used = re.finditer(rf"(?<![\w-]){re.escape(code)}(?![\w-])", text)
        yield from (each.span() for each in used)


def _styles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the measures and colours of style sheets."""
    for declared in _DECLARATION.finditer(text):
        yield from (each.span() for each in _MEASURE.finditer(text, *declared.span("value")))


def _classes(text: str, forms: PublicForms) -> Iterator[tuple[int, int]]:
    """Yield the parts of the names of a tag's classes that are numbers, short or known words."""
    for named in _CLASSES.finditer(text):
        for part in _CLASS_PART.finditer(text, *named.span("value")):
            word = part.group()
            short = len(word) <= _SHORT_PART and (word.islower() or word.isdecimal())
            if short or forms.known(word):
                yield part.span()


def _headers(text: str, forms: PublicForms) -> Iterator[tuple[int, int]]:
    """Yield the parts of the names of fields of HTTP that are known words, and no given names."""
    for field in _HEADER.finditer(text):
        yield field.span("x")
        for part in _HEADER_PART.finditer(text, *field.span("names")):
            word = part.group()
            if forms.known(word) and word.lower() not in given_names():
                yield part.span()


def _is_known(name: str, forms: PublicForms) -> bool:
    """Return True if each word of a name such as "IllegalStateException" is on a list.

    A word with two letters swapped is: "nmae" is what somebody looks for in a program.
    """
    parts = NAME_PARTS.findall(name)
    parts = parts[1:] if parts[:1] == ["n"] else parts  # "n_claims"
    return all(forms.known(part) or _is_swapped(part, forms) for part in parts)


def _is_foreign(name: str) -> bool:
    """Return True if each word of a name in lower case is one of German, French or Spanish."""
    parts = NAME_PARTS.findall(name)
    return name.islower() and all(
        len(part) >= _LEAST_FOREIGN and any(part in foreign_words(each) for each in FOREIGN)
        for part in parts
    )


def _is_swapped(word: str, forms: PublicForms) -> bool:
    if not word.islower() or len(word) < _LEAST_SWAPPED or word in given_names():
        return False  # "denise" is no "denies"
    swaps = range(len(word) - 1)
    return any(forms.known_public(word[:i] + word[i + 1] + word[i] + word[i + 2 :]) for i in swaps)
