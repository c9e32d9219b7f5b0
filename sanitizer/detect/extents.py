"""How far a thing reaches: words of one name or number, and the visible words that belong to it.

What a finding takes in is visible text, decided by that text, by the finding's class and by its own
run (docs/guarantees.md, theorem B).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sanitizer.detect.classes import class_of, given_names, told_in, words_of
from sanitizer.detect.skeleton import (
    NUMBERS,
    NUMERAL,
    Run,
    Skeleton,
    public_forms,
)
from sanitizer.text import (
    overlapping,
)

UNKNOWN = "TERM"
"""Class of a word that is on no list and that the tagger gives no class."""
NAMES = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
_TOLD = frozenset(["CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "CRIME", "FACT"])
_TRADED = frozenset(["ORGANIZATION", "PRODUCT"])
_JOINS = {
    "PERSON": re.compile(
        r"[ \u00a0]|\. |-|"
        r"(?i:(?:\. ?|[ -])(?:(?:van|von|de|del|della|da|di|du|dos|el|al|bin|ibn|ben|la|le|"
        r"der|den|ter|zu|y|st\.?)[ -])+)"
    ),
    "ORGANIZATION": re.compile(
        r" |\. |-| & | of | of the | and | for | for the |'s |\u2019s |(?: [A-Z][a-z]+)+ "
    ),
    "PLACE": re.compile(r" |-| of | of the |, (?=\d)| the | del? | de la | du | des "),
    "PRODUCT": re.compile(r" |-|\.|_"),
    "DATE": re.compile(r" |, |[./:-]| of | de | the | at | around |T| ?[-\u2013+] ?"),
    "MONEY": re.compile(r" |[.,-]"),
    "ID": re.compile(r" ?[-/#._] ?| "),
    "NUMBER": re.compile(r"[.,/:-]| "),
}
_JOIN = re.compile(r" |-| of | of the |'s |\u2019s ")
_UNIT = (
    r"(?:kilos?|kilograms?|kgs?|grams?|mg|mcg|\u00b5g|g|ml|dl|l|cm|mm|mmol|mol|meters?|metres?|km|m|"
    r"lbs?|stone|pounds|inch(?:es)?|ft|feet|foot|miles?|years?|yrs?|months?|mths?|weeks?|wks?|days?|nights?|"
    r"decades?|fortnights?|semesters?|hours?|hrs?|minutes|mins?|seconds|percent|per cent|bpm|mph|"
    r"milligrams?|micrograms?|millilit(?:er|re)s?|units|beats|hectares?|acres?|yards?|tonnes?|tons?|"
    r"lit(?:er|re)s|(?:square|cubic) (?:met(?:er|re)s?|kilomet(?:er|re)s?|feet|foot|yards?|miles?)|"
    r"sq\.? ?(?:m|ft)|ha|t(?!-)|per mille|(?:working|business|calendar) days?|kilomet(?:er|re)s?|"
    r"centimet(?:er|re)s?|million|billion|thousand|"
    r"Prozent|Jahre?n?|Monate?n?|Wochen?|Tagen?|Stunden|pour cent|ans|mois|semaines|jours|heures|"
    r"por ciento|a\u00f1os|meses|semanas|d\u00edas|horas)"
)
_NUMERAL_UNITS = (
    rf"[ \u00a0-]?(?i:{_UNIT}(?:/{_UNIT})?(?:[ -]old)?)\b|[ ]?\u00b0[ ]?(?:[CF]\b)?|%|[ ]%"
)
MONTH = (
    r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|"
    r"januar|februar|m\u00e4rz|mai|juni|juli|oktober|dezember|"
    r"janvier|f\u00e9vrier|mars|avril|juin|juillet|ao\u00fbt|septembre|octobre|novembre|d\u00e9cembre|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
LONG_MONTH = r"(?i:january|february|april|june|july|august|september|october|november|december)"
_DAY = r"(?i:mon|tues?|wed(?:nes)?|weds|thu(?:rs)?|fri|sat(?:ur)?|sun)(?i:day)?"
_PART_OF_DAY = r"(?i:morning|afternoon|evening|night|noon|midnight)"
_WEEKDAY = (
    rf"(?:{_DAY}|(?i:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|"
    r"jeudi|vendredi|samedi|dimanche|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo))"
)
WEEKDAY = re.compile(r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)")
"""A weekday alone: public, and nobody's name."""
TITLE = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Madam|Mx|Rev|Judge|Herrn?|Frau|Monsieur|Madame|Mme|"
    r"M|[Ss]e\u00f1ora?|[Dd]octora?|Sra?|Don|Do\u00f1a)\.? $"
)
"""Visible text before a person's name."""
_TITLED = dict.fromkeys(["Frau", "Herr", "Herrn", "Familie"], "PERSON")
"""Words that are not visible with a capital, before a name."""
_RELATED = frozenset(
    "bruder chef chefin cousin cousine enkel enkelin freund freundin gro\u00dfmutter "
    "gro\u00dfvater kollege kollegen kollegin kunde kunden kundin mieter mieterin mutter nachbar "
    "nachbarin neffe nichte oma onkel opa patient patientin schwester sch\u00fcler "
    "sch\u00fclerin sohn tante tochter vater vermieter vermieterin".split()
)
"""German words that say what somebody is to somebody, before a name; no part of it."""
_NO_PART = _RELATED | frozenset(
    "frau herr herrn familie unterschrift liebe lieber lieben sehr geehrte geehrter geehrten "
    "hallo".split()
)
_CODES = (
    "USD|EUR|GBP|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|MXN|JPY|ZAR|CNY|KRW|SGD|HKD|THB|"
    "ILS|AED|BTC|kr|K\u010d|z\u0142|TL|lei"
)
_CURRENCY = re.compile(_CODES)
_CALENDAR = re.compile(rf"{MONTH}|{_WEEKDAY}")
"""Names of months and weekdays; shapes of text between one of them and a number beside it."""
_DAY_BEFORE = re.compile(r"(?:(?:st|nd|rd|th)\b)?\.?,?(?: of| de)? ")
_DAY_AFTER = re.compile(r"\.?,? (?:the |den |le |el )?")
_CAPITALIZED = (
    rf"(?<=[a-z,|] )(?!(?:{_WEEKDAY}|{MONTH}|I|Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Madam|Dear|Hello|Hi|"
    r"English|German|French|Spanish|Italian|Chinese|Japanese|Latin|Greek)\b)[A-Z][a-z]+ $"
)
"""Visible text before a name: a word with a capital that opens no sentence."""
_FIRMS_ABROAD = (
    r"(?:Assurances?|Banque|Clinique|H\u00f4pital|Boulangerie|\u00c9cole|Lyc\u00e9e|Coll\u00e8ge|Cabinet|"
    r"R\u00e9sidence|H\u00f4tel|Casa|Gasthof|Gasthaus|Praxis|Apotheke|Klinik|B\u00e4ckerei|Autohaus|"
    r"Talleres|Cl\u00ednica|Farmacia|Colegio|Instituto|Notar\u00eda|Bar|Bodegas?|Conservas|Energ\u00edas|"
    r"Ayuntamiento|CEIP|IES|Restaurante|Hotel|Centre|Soci\u00e9t\u00e9|Garage|Mairie|Maison|Transports|"
    r"Fliesen|Elektro|Sanit\u00e4r|Malerbetrieb|Schreinerei|Metzgerei|Spedition|Kanzlei|Kita|Schule|"
    r"Grundschule|Gymnasium|Krankenhaus|Stiftung|Verein|Huize|Stichting|Pension|Villa|Chez)"
    r"(?: (?:del?|de la|de l['\u2019]|des|du|di|della|dos|das|do|am|zum|zur|von))?"
)
"""What firms, schools and houses of other languages are called before their name."""
_THINGS = (
    r"(?:(?:side|coffee|smart|bread|nursing|washing|running|electric|garden|office|sewing|robot) )?"
    r"(?:tables?|makers?|meters?|bras?|valves?|sofas?|chairs?|beds?|mattress(?:es)?|lamps?|prams?|"
    r"strollers?|mixers?|kettles?|toasters?|vacuums?|drills?|mowers?|boilers?|heaters?|pumps?|"
    r"bikes?|scooters?|helmets?|tents?|jackets?|boots|shoes|cameras?|speakers?|headphones|ovens?|"
    r"fridges?|freezers?|dishwashers?|dryers?|machines?|serum|shampoo|pushchair)(?![A-Za-z])"
)
"""What a thing is, behind its maker's name: "a Torvik 900 bread maker"."""
_ONES = re.compile(
    r"(?i)-(?:one|first|second|third)\b| (?:first|second|third)(?= of\b)|"
    r" one\b(?! (?:of|day|morning|evening|night|time|person|thing)\b)"
)
"""Visible end of a number in words: "forty-one", and "forty one" as it is dictated."""
_TAKEN_BEFORE = {
    "MONEY": re.compile(
        r"(?:(?:\b(?:R|CA|AU|A|US|NZ))?[$\u00a3\u20ac\u00a5\u20b9]|"
        rf"\b(?:{_CODES}|Rs\.?))\s?$"
    ),
    "DATE": re.compile(
        rf"(?:\b{_DAY}\.?,? (?:(?:the|at) )?|\b{MONTH}\.? (?:the )?|\byesterday (?:at )?|\bmid-|"
        r"\b(?i:half past|quarter (?:past|to)) |"
        r"\b[Ww]/[ce] |"
        r"\b(?:the )?(?:beginning|start|middle|end|(?:first|last|second|third) (?:week|days)) of |"
        r"\b(?:[Tt]he )?(?i:spring|summer|autumn|winter|wk) of |"
        r"\bQ[1-4] |\bweek |\b(?:last|next|early|late|mid) )+$"
    ),
    "PERSON": re.compile(
        r"\b(?:(?:Old|Big|Little|Young|Baby|Uncle|Auntie|Aunt|Grandma|Grandpa|Granny|Nana) |"
        r"(?:deploy|svc|admin|user)[-_.]|(?:^|(?<=[|:,;(\n\"']))(?:van|von)(?: de[rn]?)? |"
        r"\b[a-z]\.)$|(?:^|(?<=[|:,;(\n\"] )|(?<=\n))[A-Z]\. $"
    ),
    "ID": re.compile(r"(?:\b(?:(?:[a-z]+|[A-Z]{2,6})[-_]|[A-Z]{1,6}/))+$"),
    "PRODUCT": re.compile(
        rf"\b(?:Project|Operation) $|(?<![.!?] )\b(?:Programme|Program) $|\b[A-Z][a-z]+ & $|"
        rf"{_CAPITALIZED}"
    ),
    "ORGANIZATION": re.compile(
        rf"\b[A-Z][a-z]+ & $|\b(?:Saint|St\.?|San|Santa) $|\b{_FIRMS_ABROAD} $|{_CAPITALIZED}"
    ),
    "PLACE": re.compile(
        rf"\b(?:Bad|Saint|St\.?|San|Santa|Upper|Lower|Great|Port|Mount) $|{_CAPITALIZED}|"
        r"\b(?:[Cc]alle|[Rr]ue|[Aa]venue|[Aa]venida|[Pp]laza|[Vv]ia|[Pp]iazza)"
        r"(?: (?:del?|de la|des|du|di|della))? $"
    ),
    "OCCUPATION": re.compile(
        r"(?:(?:(?<=\ba )|(?<=\ban )|(?<=\bthe )|(?<=\bour )|(?<=\bmy )|(?<=, )|(?<=: )|(?<=\| ))"
        r"(?:mobile |senior |junior |retired |former |trainee |night )?"
        r"(?!(?:the|an?|and|or|but|so|not|now|then|still|also|just|who|as|is|was|to|of|in|at|on|for|"
        r"with|from|by|my|our|his|her|their|your|its|i|we|he|she|they|you|it)\b)[A-Za-z]+ |"
        r"(?i:\b(?:forklift|shift|regional|bus|lorry|truck|van|taxi|cab|train|tram|delivery|cabin|flight|line|head|sous|"
        r"pastry|night|care|social|youth|support|school|primary|dinner|dog|lab|call cent(?:re|er)|"
        r"warehouse|factory|hotel|ward|staff|district|veterinary|dental|legal|personal|sales|"
        r"project|product|office|estate|letting|travel|tour|security|prison|police|parole|"
        r"probation|fire|army|navy|lighthouse|shop|bar|site|stock|process|court|piano|music|dance|"
        r"driving|swimming|press|vice|tech|laboratory|church|union|deputy|assistant|senior|junior|"
        r"yoga|maths|science|language|web|software|data)[ -])+)$"
    ),
    "CONDITION": re.compile(
        r"(?i:(?:\b(?:(?:stage|grade) \w+|(?:four|six|\d+) weeks|breast|lung|bowel|colon|skin|"
        r"brain|blood|bone|heart|kidney|liver|chronic|severe|mild|acute|advanced|nearly|partly|nut|hearing|"
        r"cervical|ovarian|prostate|testicular|thyroid|pancreatic|gastric|oral|throat|uterine|bladder|"
        r"stomach|cystic|spinal|viral|bacterial|seasonal|sudden|"
        r"back|chest|eating|mental|panic|high|head|recovering|broken|fractured|torn|fake|sickle|"
        r"(?:early|late)-onset|egg|milk|type (?:one|two|[12])|heavy|irregular|borderline|terminal|"
        r"inoperable|congenital|partial|partially|postnatal|post-natal|clinical|early|moderate|"
        r"recurrent|suspected|bad)[ -])+)$"
    ),
    "CRIME": re.compile(
        r"(?i:\b(?:drunk|drink|drug|tax|sexual|identity|armed|domestic|aggravated|attempted|"
        r"common|actual|grievous|benefit|insurance|(?:possession|supply|theft|handling) of)"
        r"[ -])$"
    ),
    "TREATMENT": re.compile(
        r"(?i:\b(?:speech|occupational|cognitive|behaviou?ral|hormone|replacement|radiation|"
        r"couples|family|group|art|music|oxygen|anti|weekly|daily|low-dose|high-dose|knee|hip|heart|"
        r"home|pain|sleeping|nicotine|insulin|hearing|general|local|top|embryo|iv|catheter|beta)"
        r"[ -])$"
    ),
    "FAMILY": re.compile(
        r"(?i:\b(?:foster|birth|adoptive|adopted|shared|joint|sole|losing|getting|recently|newly|twice|"
        r"maternity|paternity)[ -])+$"
    ),
    "BELIEF": re.compile(
        r"(?i:\b(?:lapsed|strict|devout|practi[sc]ing|non-practi[sc]ing|orthodox|born[- ]again|"
        r"secular|converted|observant|staunch|lifelong|committed|former|ex)[ -])$"
    ),
    "ORIGIN": re.compile(r"(?i:\b(?:half|part|second[- ]generation|first[- ]generation)[ -])$"),
}
"""Visible text before a finding that becomes part of it."""
_HANDLE = re.compile(r"(?:[._][a-z0-9_]{1,24}){1,3}(?!\w)")
_HOSTED = (
    r"(?:-(?:prod|stage|staging|dev|test|qa|uat|live)(?![\w-]))?"
    r"\.(?:int|lan|local|internal|corp)(?![\w-])|"
    r"-(?:prod|stage|staging|uat|east|west|north|south|eu|us|uk)(?![\w-])"
)
_TAKEN_AFTER = {
    "MONEY": re.compile(
        r"(?i:\s?(?:[\u20ac\u00a3%]|(?:million|billion|thousand|grand|euros?|dollars?|pounds?|btc|eth|bucks|quid|"
        rf"cents|d\u00f3lares|pesos|soles|reais|coronas|francs|kroner|kronor|rupees|lakh|crore|{_CODES}|k|m|bn)\b))*"
        r"(?i:(?:,-)? ?(?:/|a |an |per |each |every )"
        r"(?:hour|day|night|week|month|quarter|year|annum|shift|term|session|head|person)\b)?"
        r"(?i: (?:gross|net|brutto|netto|brut|bruts|nets)\b)?"
    ),
    "NUMBER": re.compile(_NUMERAL_UNITS),
    "PLACE": re.compile(
        rf"{_HOSTED}|"
        r"(?i: (?:bridge|road|street|lane|avenue|house|court|park|square|close|hill|lake|sea|bay|"
        r"(?:bus|train|railway|police|fire|coach|petrol) station|services|retail park|car park|"
        r"(?:industrial|business|trading|housing) (?:estate|park)|shopping cent(?:re|er)|town hall|"
        r"high street|market place|"
        r"island|village|estate|heights|terrace|crescent|gardens|grove|mews|cottage|farm|beach|"
        r"valley|forest|station|harbou?r|airport|beck|drive|boulevard|plaza)\b)?"
    ),
    "ID": re.compile(
        r"(?:[-_][a-z]{2,}(?![A-Za-z])|\.(?:int|lan|local|internal|corp|com|net|org|io|example)\b)+"
    ),
    "DATE": re.compile(
        rf"(?:(?:st|nd|rd|th|s|[ ]?[ap]\.?m\.?|[ ]?o['\u2019]clock)\b)?(?:[.,]? (?:of |de )?"
        rf"{MONTH}\b\.?|,? (?:of |on )?(?:{_DAY}\b(?! \Z)|half[- ]term\b|bank holiday\b|"
        rf"(?:in the |at ){_PART_OF_DAY}\b|tomorrow\b|sharp\b))*"
    ),
    "PRODUCT": re.compile(
        rf"(?:[-_][a-z]+(?![A-Za-z]))+|(?: [A-Z][a-z]+)+(?![A-Za-z])(?: {_THINGS})?|(?: {_THINGS})"
    ),
    "PERSON": re.compile(
        rf"{_HOSTED}|\.[b-hj-z](?=[\s,:;)]|\Z)|"
        r" (?:House|Court|Holidays|HOLIDAYS|Travel|TRAVEL|Dental|DENTAL|Kitchens|KITCHENS|"
        r"Electrical|Logistics|Plumbing|Roofing|Motors|Foods|Solicitors|Lettings|"
        r"Builders|Bakery|Pharmacy|Surgery|Primary|Academy|Hotel|HOUSE|COURT|ELECTRICAL|LOGISTICS|"
        r"PLUMBING|ROOFING|MOTORS|FOODS|SOLICITORS|LETTINGS|BUILDERS|HOTEL)(?![A-Za-z])"
    ),
    "ORGANIZATION": re.compile(
        rf"{_HOSTED}|"
        r"(?: [A-Z][a-z]+(?![A-Za-z]))*(?:,? (?:plc|ltd|llc|inc|gmbh|ag|bv|co|corp)\b|"
        r",? (?:KG|LLP|AG|SA|AB|AS|BV|NV|OHG|SE|CIC|SARL|SAS|S\.A\.|S\.L\.|S\.r\.l\.)(?!\w))?"
        r"(?i: (?:gym|bank|school|hospital|clinic|caf\u00e9|cafe|church|hotel|surgery|college|"
        r"university|academy|bakery|nursery|garage|hospice|energy|electrical|holidays|"
        r"police station|solicitors|lawyers|dental|builders|plumbing|heating|motors|kitchens|foods|"
        r"studios?|salon|council|housing|trust|society|union|club|pharmacy|library|museum|theatre|"
        r"restaurant|pub|associates|partners|logistics|textiles|insurance|assurances|estates|"
        r"lettings|properties|travel|airlines|brewery|farms?|group|labs?|primary|high school|"
        r"(?:cold )?storage|(?:[a-z]+ )?factory|foundry|dairy|depot|warehouse|timber|scaffolding|"
        r"roofing|haulage|couriers?|coaches|removals|"
        r"care home|medical cent(?:re|er)|leisure cent(?:re|er)|community cent(?:re|er))"
        r"\b)?"
    ),
    "CONDITION": re.compile(
        r"(?:['\u2019]s\b)?"
        r"(?i:[ -](?:cancer|disease|disorder|syndrome|infection|allergy|addiction|failure|loss|use|"
        r"user|pain|attacks?|lice|pregnant|symptoms|patient|cell|wrist|ankle|leg|arm|hip|knee|back|"
        r"shoulder|foot|hand|periods|fibrillation|pressure|tumou?r|deficiency|intolerance|injury|"
        r"impairment|problems?|disability|episode|diet|attack|trait|flare(?:[- ]?ups?)?|"
        r"in (?:one|both|her|his|my|the) (?:left |right )?"
        r"(?:ears?|eyes?|arms?|legs?|knees?|hips?|hands?|feet|foot|lungs?|kidneys?))\b)*"
    ),
    "TREATMENT": re.compile(
        r"(?i:[ -](?:pump|replacement|operation|surgery|therapy|treatment|cartridges|tube|tablets|"
        r"injections?|implants?|device|monitor|cream|leg|fusion|transfer|aids?|pads|patch(?:es)?|"
        r"pills?|scan|inhaler|drops|stockings|transplant|treatment|sessions|course|"
        r"\d+ ?(?:mg|mcg|ml))\b)+"
    ),
    "OCCUPATION": re.compile(
        r"(?i:[ -](?:manager|officer|assistant|teacher|engineer|driver|agent|cook|surgeon|groomer|"
        r"keeper|crew|rep|worker|nurse|operator|cleaner|porter|technician|analyst|clerk|guard|"
        r"instructor|trainer|designer|developer|owner|inspector|supervisor|attendant|principal|"
        r"interpreter|controller|planner|treasurer|reporter|lead)\b)+"
    ),
    "FAMILY": re.compile(
        r"(?i:[ -](?:child|children|parents?|mother|father|mum|dad|son|daughter|carers?|leave|"
        r"hearing|battle|proceedings|papers)|-(?:husband|wife|boyfriend|girlfriend|partner))?\b"
    ),
    "CRIME": re.compile(r"(?i:[ -](?:driving|violence|possession|abuse|fraud|theft)\b)+"),
}
"""Visible text after a finding that becomes part of it."""
_OF_PERSONS = _TOLD | {"SEXUALITY", "TREATMENT", "OCCUPATION"}
_COMPOUND = re.compile(r"(?<![^\s(\"'/])[A-Za-z]{2,}-$")
"""Visible first part of a word with a hyphen, such as "self-harming"."""
_NAMED_BEFORE = re.compile(r"(?i:\b(?:(?:early|late)-onset|type (?:one|two|[12]))[ -])$")
_NAMED_AFTER = re.compile(
    r"(?:['\u2019]s\b)?"
    r"(?i:[ -](?:disease|disorder|syndrome|infection|deficiency|intolerance|tumou?r)\b)?"
)
"""Words around a listed condition that are a part of its name, so that no other mention of it is
without them."""
_MOST_NAMES = 4
_NEAR = 40  # characters on each side of a finding that may belong to it
_FIRM = re.compile(
    r"(?<![^\W_])(?:Ltd|Limited|LLC|LLP|Inc|Corp|PLC|plc|GmbH|AG|KG|SARL|Oy|BV|NV|SpA|Sons|University|"
    r"Hospital|Clinic|School|College|Bank|Insurance|Logistics|Pharmaceuticals|Holdings|Partners)\.?\Z"
)
"""End of a firm's name, whatever the tagger takes it for."""
_HEADS = re.compile(
    r"(?:Ministry|Department|University|Bank|Institute|Board|Office|Faculty|School|College|Bureau|"
    r"Academy|Society|Association|Museum|Church|Bishop|Port|Court|House|Chamber)\Z"
)
"""What may go on with "of" and another name."""
_FOR = re.compile(
    r"(?i)(?<![^\W_])(?:academy|agency|alliance|association|board|bureau|campaign|cent(?:er|re)|clinic|"
    r"coalition|college|commission|committee|council|department|federation|forum|foundation|fund|"
    r"group|home|hospice|hospital|institute|ministry|network|office|school|society|trust|union)\Z"
)
"""What may go on with "for" and another name."""
_FIRM_OF_WORDS = re.compile(
    r"(?i)[\w.&'\u2019-]+ (?:.+ )?(?:academy|airlines|airways|associates|bakery|books|brewery|"
    r"capital|components|consulting|council|county court|court|crown court|dairy|dental|electric|"
    r"electronics|energy|engineering|estates|family court|foods|foundation|freight|group|hospice|"
    r"hotel|industries|infirmary|institute|labs|laboratories|lettings|library|media|ministry|"
    r"motors|museum|nursery|pharmacy|plastics|plumbing|police|press|primary|properties|publishing|"
    r"restaurant|roofing|services|shipping|software|solicitors|solutions|steel|steelworks|studios?|"
    r"surgery|systems|technologies|textiles|theatre|trust|union|ventures|veterinary)\Z"
)
"""A name of several words that ends as names of firms, courts and schools do."""
_POST = re.compile(
    r"(?i)(?:[\w&'\u2019-]+ )*(?:accountant|administrator|adviser|advisor|analyst|architect|"
    r"agent|apprentice|assistant|attorney|buyer|captain|cashier|cleaner|clerk|consultant|controller|coordinator|counsel|developer|"
    r"director|driver|editor|engineer|executive|foreman|gardener|head|inspector|intern|leader|"
    r"lecturer|librarian|manager|nurse|officer|operative|operator|partner|planner|porter|president|programmer|receptionist|recruiter|"
    r"representative|researcher|scientist|secretary|specialist|strategist|supervisor|surgeon|"
    r"teacher|technician|therapist|trainee|treasurer|chef|ceo|cto|cfo|coo)"
    r"(?: (?:of|for) [\w&'\u2019 -]+)?\Z"
)
_OF_POST = re.compile(r"(?i) (?:of|for) (?:the )?")
_DEPARTMENT = re.compile(
    r"(?i)(?:accounting|admissions|analytics|care|communications|compliance|customer|data|design|"
    r"development|education|engineering|facilities|finance|growth|health|human resources|hr|it|"
    r"learning|legal|logistics|marketing|nursing|operations|people|planning|procurement|product|"
    r"production|purchasing|quality|research|risk|safety|sales|security|service|strategy|studies|"
    r"support|technology|training|transport)(?: .+)?"
)
"""A post, as it stands under a name; visible text between it and its department; departments."""
_ABBREVIATED = re.compile(r"(?<![^\W_])[^\W\d_]{1,2}\Z")
_FIRST_OF_TWO = re.compile(r"(?<![^\W_])[A-Z][a-z]{1,11}-\Z")
"""The first part of a given name that is a word too, as in "Per-Erik"."""
_LETTERS_AND = re.compile(r"(?<![^\W_])[A-Z]{1,3}&\Z")
_AND_LETTERS = re.compile(r"&[A-Z]{1,2}(?![^\W_])")
"""Beginning and end of a firm's name whose letters are words too, as "IT" is."""
_INITIAL = re.compile(r"[A-Z]\. ?")
_SAINT = re.compile(r"(?:St|Ste|Mt|Ft)\. ")
_PREFIX = re.compile(r"[A-Z]{2,6}")  # of a number such as "OPS-4471"


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch that the detector gives a class.

    Attributes:
        start, end: character offsets. kind: the class, in capitals, or UNKNOWN.
    """

    start: int
    end: int
    kind: str


_Group = tuple[Finding, int, int]
"""A finding with its first and its last run."""


def of_calendar(found: Skeleton, number: int, word: str) -> bool:
    """Return True for the name of a month or weekday beside a run that is a number.

    Which runs are numbers is public, as is the text between two runs.

    Args:
        number: of the word's run.
    """
    if not _CALENDAR.fullmatch(word):
        return False
    run, runs = found.runs[number], found.runs
    before = runs[number - 1] if number else None
    dated = before is not None and before.kind in NUMBERS
    if before is not None and dated and _DAY_BEFORE.fullmatch(found.text, before.end, run.start):
        return True
    following = runs[number + 1] if number + 1 < len(runs) else None
    if following is None or following.kind not in NUMBERS:
        return False
    return _DAY_AFTER.fullmatch(found.text, run.end, following.start) is not None


def of_currency(found: Skeleton, number: int, word: str) -> bool:
    """Return True for the code of a currency, such as "NOK", beside a run that is a number.

    Args:
        number: of the word's run.
    """
    return _CURRENCY.fullmatch(word) is not None and _beside_number(found, number, (-1, 1))


def of_bytes(found: Skeleton, number: int, word: str) -> bool:
    """Return True for "TB" behind a number, which is an illness elsewhere.

    Args:
        number: of the word's run.
    """
    return word == "TB" and _beside_number(found, number, (-1,))


def _beside_number(found: Skeleton, number: int, steps: Sequence[int]) -> bool:
    """Return True if a run beside the one of this number is a number, with a space at most between.

    Args:
        steps: -1 to look before it, 1 to look behind.
    """
    text, runs = found.text, found.runs
    for i in (number + step for step in steps):
        if 0 <= i < len(runs) and _is_number(runs[i]):
            first, second = sorted((runs[i], runs[number]), key=lambda run: run.start)
            if text[first.end : second.start] in ("", " ", "\u00a0"):
                return True
    return False


def _is_number(run: Run) -> bool:
    return run.kind in NUMBERS


_FULL_NAME = 2  # words


def names_on(
    text: str, run: Run, kinds: list[str | None], language: str = "en"
) -> list[str | None]:
    """Return the classes of a run's words, a name's also for the words with a capital beside it.

    Only the run itself is looked at: "Foods" belongs to the name in "Caldwell Foods", and in German
    "Volksbank" to that in "Volksbank Wiesengrund".
    """
    taken = NAMES if language == "de" else _TRADED
    found = list(kinds)
    for i in range(1, len(found)):
        before, word = (text[slice(*run.words[at])] for at in (i - 1, i))
        if (titled := _TITLED.get(before)) and _beside(text, run, i):
            found[i - 1 : i + 1] = None, titled
        if language == "de" and before.lower() in _RELATED and word.lower() in given_names():
            found[i - 1 : i + 1] = None, "PERSON"  # "Sohn Leon", whatever the tagger takes it for
        if (
            before.lower() in given_names()
            and {found[i - 1], found[i]} <= NAMES
            and _beside(text, run, i)
        ):
            found[i - 1] = found[i] = "PERSON"
        if found[i - 1] == "PERSON" and text[run.words[i - 1][1] : run.words[i][0]] == "-":
            found[i] = "PERSON"  # "Ji-woo"
        if {found[i - 1], found[i]} == {"ORGANIZATION", "PRODUCT"} and _beside(text, run, i):
            found[i - 1] = found[i] = "ORGANIZATION"  # "Copperhouse Joinery"
        if len(found) == _FULL_NAME and _beside(text, run, i) and found[i] == "PERSON":
            found[0] = "PERSON" if found[0] in ("ORGANIZATION", "PLACE") else found[0]
        follows = found[i] in NAMES or found[i] == "OCCUPATION"
        unknown = _is_unknown(word, found[i], language)
        other = unknown or (found[i - 1] == "PERSON" and follows)
        if other and found[i - 1] in NAMES and _beside(text, run, i):
            found[i] = found[i - 1]
    for i in reversed(range(1, len(found))):
        before = text[slice(*run.words[i - 1])]
        if found[i] == "PERSON" and before.lower() in _NO_PART:
            continue
        rare = found[i - 1] is None and language != "de" and not public_forms().listed(before)
        if rare and found[i] == "PERSON" and before.istitle() and _beside(text, run, i):
            found[i - 1] = "PERSON"  # "Rhea Banerjee", though dictionaries have the bird
        if found[i - 1] is None and found[i] in taken and _beside(text, run, i):
            first = run.words[i - 1][0]
            found[i - 1] = found[i] if text[first].isupper() else None
    return found


def _is_unknown(word: str, kind: str | None, language: str) -> bool:
    """Return True for a word whose class says nothing: none, or in another language than English
    an illness or the like that no list has.
    """
    if kind in (None, UNKNOWN, "FACT"):
        return True
    told = language != "en" and kind in _TOLD
    return told and class_of(word) is None and word.lower() not in told_in(language)


def _beside(text: str, run: Run, number: int) -> bool:
    """Return True if a word of a run has a capital and one space before it."""
    start = run.words[number][0]
    return text[start].isupper() and text[run.words[number - 1][1] : start] == " "


def joined(
    found: Skeleton, words: Sequence[tuple[Finding, int]], declared: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield findings of one class that belong together as one, with the visible words around.

    Args:
        words: findings of single words, each with the number of its run.
        declared: stretches that nothing may take in.
    """
    groups: list[_Group] = []
    for each, run in words:
        finding = each
        if groups and _has_initial(found.text, groups[-1][0], each):
            held, first, last = groups[-1]
            groups[-1] = Finding(held.start, held.end, "PERSON"), first, last
            finding = Finding(each.start, each.end, "PERSON")
        if groups and _is_saint(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            kind = finding.kind if held.kind == "PERSON" else held.kind
            groups[-1] = Finding(held.start, finding.end, kind), first, run
            continue
        if groups and _numbered(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "ID"), first, run
            continue
        if groups and groups[-1][0].kind == finding.kind:
            held, first, _ = groups[-1]
            between = found.text[held.end : finding.start]
            apart = (
                overlapping(declared, held.end, finding.start)
                or (held.kind == "NUMBER" and between == " " and found.runs[run].kind != NUMERAL)
                or (held.kind == "DATE" and _another_day(found, first, groups[-1][2], run))
            )
            if not apart and _joins(found.text, held, finding):
                groups[-1] = Finding(held.start, finding.end, held.kind), first, run
                continue
        if groups and (linked := _linked(found.text, groups[-1][0], finding, declared)):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, linked), first, run
            continue
        if groups and _is_post(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "OCCUPATION"), first, run
            continue
        groups.append((finding, run, run))
    groups = _with_partners(found.text, groups)
    at = 0  # where the finding before ends
    for i, (group, first, last) in enumerate(groups):
        low = max(found.runs[first - 1].end if first else 0, group.start - _NEAR)
        high = found.runs[last + 1].start if last + 1 < len(found.runs) else len(found.text)
        finding = Finding(group.start, group.end, _named(found.text, group, low, high))
        wide = _widened(found, finding, first, last)
        following = groups[i + 1][0].start if i + 1 < len(groups) else len(found.text)
        clear = at <= wide.start and wide.end <= following
        if not clear or overlapping(declared, wide.start, wide.end):
            wide = finding
        at = wide.end
        yield wide


_IN_TOWN = re.compile(r"-(?:on|upon|in|by|the|de|la|le|les|sur|sous|en|am|an|der|l['\u2019]?)-")
_OF_FAMILY = re.compile(r" van(?: (?:de|den|der))? ")
_REIGNED = re.compile(r" (?:II|III|IV) ")
_SITUATED = re.compile(r" (?:an der|am|im|de|del|de la|de los|du|des) ")
"""What is between the parts of names: "Stoke-on-Trent", "van den Berg", "Elizabeth II Hospital",
"Universidad de Yucat\u00e1n"."""


def _linked(
    text: str, held: Finding, finding: Finding, declared: Sequence[tuple[int, int]]
) -> str | None:
    """Return the class of one name whose parts have two classes, None for two names."""
    kinds = (held.kind, finding.kind)
    if not NAMES.issuperset(kinds) or overlapping(declared, held.end, finding.start):
        return None
    between = text[held.end : finding.start]
    if _IN_TOWN.fullmatch(between):
        return "PLACE" if "PLACE" in kinds else held.kind
    if _OF_FAMILY.fullmatch(between) and held.kind == "PERSON":
        return "PERSON"
    if _REIGNED.fullmatch(between):
        return finding.kind
    situated = held.kind == "ORGANIZATION" and finding.kind != "PERSON"
    return held.kind if situated and _SITUATED.fullmatch(between) else None


def _another_day(found: Skeleton, first: int, last: int, run: int) -> bool:
    """Return True if a day follows that is another one of a list: "3 May 2024, 14 March 2023".

    Which runs are numbers is public, as is the text between runs; their letters are not read.

    Args:
        first, last: runs of the date before the comma. run: the one behind it.
    """
    text, runs = found.text, found.runs
    if text[runs[last].end : runs[run].start] != ", " or not _is_number(runs[last]):
        return False
    if not _is_number(runs[run]) or all(map(_is_number, runs[first : last + 1])):
        return True
    if run + 1 == len(runs) or _is_number(runs[run + 1]):
        return False
    return _TO_MONTH.fullmatch(text, runs[run].end, runs[run + 1].start) is not None


_TO_MONTH = re.compile(r"(?:st|nd|rd|th|\.)? (?:of )?")
"""Text between a day and its month."""


def _joins(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if what is between two findings of one class is a part of one name.

    "Dunlevy and Aqua-Tek" may be one firm, "works for Dunlevy" is none.
    """
    between = text[held.end : finding.start]
    if held.kind == "DATE" and between == ". ":
        # "3. März" is no end of a sentence. That one is a number and the other a word is public;
        # which word it is must not decide about its neighbour (theorem B).
        return text[held.start : held.end].isdecimal() and text[finding.start].isalpha()
    if _JOINS.get(held.kind, _JOIN).fullmatch(between) is None:
        return False
    if text[held.start : held.end] == text[finding.start : finding.end]:
        return between in ("-", " ")  # "Leeds and Leeds" is a place, twice
    if between.startswith(".") and held.kind in NAMES:
        # The dot of "J. Lund" and "St. Ebba" is no end of a sentence.
        return _ABBREVIATED.search(text[held.start : held.end]) is not None
    if between.startswith(" for ") and _FOR.search(text, held.start, held.end) is None:
        return False  # somebody left the one for the other
    alike = text[held.start].isupper() == text[finding.start].isupper()
    return alike or held.kind not in NAMES or not any(map(str.isalpha, between))


def _named(text: str, finding: Finding, low: int, high: int) -> str:
    """Return the class of a finding: of a name, by its given name, end, or place if it has one.

    Args:
        low, high: where visible text before and after it ends: another run is not read.
    """
    treated = finding.kind == UNKNOWN and is_treated(text[:high], finding.end)
    if treated or finding.kind not in {*NAMES, UNKNOWN}:
        return _of_no_name(text[:high], finding)
    start, written = finding.start, text[finding.start : finding.end]
    words = written.split()
    given = len(words) <= _MOST_NAMES and words[0].lower() in given_names()
    if finding.kind != UNKNOWN:
        if _FIRM.search(written) or _FIRM_OF_WORDS.fullmatch(written):
            return "ORGANIZATION"
        if given:
            return "PERSON"
        if _POST.fullmatch(written):
            return "OCCUPATION"
    placed = written[0].isupper() and written.lower() in words_of("places")
    titled = placed and TITLE.search(text[low:start])
    return "PLACE" if placed and not titled else finding.kind


def _of_no_name(text: str, finding: Finding) -> str:
    """Return the class of a finding that is no name: posts and treatments are told by words."""
    written = text[finding.start : finding.end]
    if finding.kind in _TOLD and written[0].isupper() and _POST.fullmatch(written):
        return "OCCUPATION"
    treated = finding.kind in ("CONDITION", "FACT", UNKNOWN) and is_treated(text, finding.end)
    return "TREATMENT" if treated else finding.kind


_TREATED = re.compile(
    r"(?i)[ -](?:operation|surgery|replacement|transplant|medication|medicine|tablets|treatment|"
    r"pads|pump|inhaler|injections?)\b"
)
"""Visible text after a condition that makes both a treatment."""


def is_treated(text: str, end: int) -> bool:
    """Return True if a condition that ends here is a part of its treatment's name.

    Example:
        >>> is_treated("his hernia operation", 10), is_treated("his hernia", 10)
        (True, False)
    """
    return _TREATED.match(text, end) is not None


def _is_saint(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are a name such as "St. Erik": its dot ends no sentence."""
    return (
        {held.kind, finding.kind} <= NAMES
        and text[finding.start].isupper()
        and _SAINT.fullmatch(text, held.start, finding.start) is not None
    )


def _has_initial(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are a person's initial and name, such as "M. Castellano"."""
    return (
        {held.kind, finding.kind} <= NAMES
        and text[finding.start].isupper()
        and _INITIAL.fullmatch(text, held.start, finding.start) is not None
    )


def _with_partners(text: str, groups: Sequence[_Group]) -> list[_Group]:
    """Return groups of findings, those of one name as one: "Aster & Vale Ltd", "Bank of Ulm"."""
    merged: list[_Group] = []
    for group in groups:
        finding, _, last = group
        held, first, _ = merged[-1] if merged else group
        between = text[held.end : finding.start]
        partner = between == " & " and _FIRM.search(text[finding.start : finding.end])
        head = {"of": _HEADS, "for": _FOR}.get(between[1:].split(" ")[0])
        between_names = between in (" of ", " of the ", " for ", " for the ")
        headed = between_names and head and head.search(text[held.start : held.end])
        if {held.kind, finding.kind} <= NAMES and (partner or headed):
            merged[-1] = Finding(held.start, finding.end, "ORGANIZATION"), first, last
        else:
            merged.append(group)
    return merged


def _is_post(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one post, such as "Head of Procurement"."""
    return (
        _DEPARTMENT.fullmatch(text, finding.start, finding.end) is not None
        and held.kind in {*NAMES, "OCCUPATION"}
        and _OF_POST.fullmatch(text, held.end, finding.start) is not None
        and _POST.fullmatch(text, held.start, held.end) is not None
    )


def _numbered(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one number with its letters: "OPS-4471", "88-213-K"."""
    if text[held.end : finding.start] != "-":
        return False
    first, last = text[held.start : held.end], text[finding.start : finding.end]
    prefixed = _PREFIX.fullmatch(first) is not None and last.isdecimal()
    return prefixed or (first[-1].isdecimal() and len(last) == 1 and last.isupper())


def _widened(found: Skeleton, finding: Finding, first: int, last: int) -> Finding:
    """Return a finding with the visible words that belong to it: a currency, a unit, a weekday.

    Only visible text and the finding's own runs, `first` to `last`, are looked at.
    """
    text, runs = found.text, found.runs
    start, end = finding.start, finding.end
    low = max(runs[first - 1].end if first else 0, start - _NEAR)
    high = min(runs[last + 1].start if last + 1 < len(runs) else len(text), end + _NEAR)
    if runs[last].kind == NUMERAL and (match := _ONES.match(text[end:high])):
        end += len(match.group())
    if finding.kind in NAMES:
        letters, more = _LETTERS_AND.search(text[low:start]), _AND_LETTERS.match(text[end:high])
        start -= len(letters.group()) if letters else 0
        end += len(more.group()) if more else 0
    if finding.kind == "PERSON" and (match := _FIRST_OF_TWO.search(text[low:start])):
        start -= len(match.group())
    return Finding(*with_words(text, finding.kind, start, end, low, high), finding.kind)


def with_name(text: str, kind: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """Return a listed name in a text with the words, from low to high, that are a part of it.

    Example:
        >>> with_name("has severe celiac disease", "CONDITION", 11, 17, 0, 25)
        (11, 25)
    """
    if kind != "CONDITION":
        return start, end
    before, after = _NAMED_BEFORE.search(text[low:start]), _NAMED_AFTER.match(text[end:high])
    return start - len(before.group() if before else ""), end + len(after.group() if after else "")


def with_words(text: str, kind: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """Return a stretch of a class with the words around that belong to it, from low to high.

    Example:
        >>> with_words("has severe asthma attacks now", "CONDITION", 11, 17, 0, 29)
        (4, 25)
    """
    if kind in _OF_PERSONS and (match := _COMPOUND.search(text[low:start])):
        start -= len(match.group())
    if kind in NAMES and text[low:start].endswith("@") and (match := _HANDLE.match(text[end:high])):
        end += len(match.group())  # "@lotte.bakes"
    before, after = _TAKEN_BEFORE.get(kind), _TAKEN_AFTER.get(kind)
    if before is not None and (match := before.search(text[low:start])):
        start -= len(match.group())
    if after is not None and (match := after.match(text[end:high])):
        end += len(match.group())
    return start, end
