"""The visible words that belong to a thing: its unit, its currency, a month, what a firm is; and
those that say what somebody works as.

Taken in is visible text, decided by that text and by the thing's class (docs/guarantees.md,
theorem B).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sanitizer.detect.classes import Said
from sanitizer.detect.skeleton import PERSON_SLOT, POST_SLOT, SLOT, Skeleton

NAMES = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
TOLD = frozenset(["CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "CRIME", "FACT"])
_UNIT = (
    r"(?:kilos?|kilograms?|kgs?|grams?|mg|mcg|\u00b5g|g|ml|dl|l|cm|mm|mmol|mol|meters?|metres?|km|m|"
    r"lbs?|stone|pounds|inch(?:es)?|ft|feet|foot|miles?|years?|yrs?|months?|mths?|weeks?|wks?|days?|nights?|"
    r"decades?|fortnights?|semesters?|hours?|hrs?|minutes|mins?|seconds|percent|per cent|bpm|mph|"
    r"m[23\u00b2\u00b3]|cm[23\u00b2\u00b3]|km[2\u00b2]|kwh|cbm|qm|sqm|gallons?|pints?|ounces?|"
    r"degrees?|mmhg|milligrams?|micrograms?|millilit(?:er|re)s?|units|beats|hectares?|acres?|yards?|tonnes?|tons?|"
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
_CODES = (
    "USD|EUR|GBP|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|MXN|JPY|ZAR|CNY|KRW|SGD|HKD|THB|"
    "ILS|AED|BTC|kr|K\u010d|z\u0142|TL|lei|FCFA|F ?CFA|CFA|XAF|XOF|KES|KSh|Ksh|GHS|GH\u20b5|NGN|"
    "UGX|TZS|"
    "RWF|ETB|EGP|MAD|DZD|TND|DH|SAR|QAR|KWD|BHD|OMR|PKR|LKR|BDT|NPR|VND|IDR|MYR|RM|PHP|TWD|NT|ARS|CLP|"
    "COP|PEN|UYU|RON|BGN|RSD|UAH|RUB|TRY|GEL|AMD|KZT|ISK|cedis|naira|birr|Ft"
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
    r"(?:(?:baby|bath|bread|camping|car|coffee|cordless|corner|desk|dining|electric|floor|folding|garden|"
    r"gaming|hiking|kids|kitchen|memory foam|nursing|office|outdoor|pressure|reading|robot|running|"
    r"sewing|side|"
    r"smart|solar|standing|steam|sun|table|travel|walking|wall|washing|wine|winter|wireless|"
    r"yoga) )?"
    r"(?:tables?|makers?|meters?|bras?|valves?|sofas?|chairs?|beds?|mattress(?:es)?|lamps?|prams?|"
    r"strollers?|mixers?|kettles?|toasters?|vacuums?|drills?|mowers?|boilers?|heaters?|pumps?|"
    r"bikes?|scooters?|helmets?|tents?|jackets?|boots|shoes|cameras?|speakers?|headphones|ovens?|"
    r"fridges?|freezers?|dishwashers?|dryers?|machines?|serum|shampoo|pushchairs?|desks?|sheds?|panels|"
    r"candles?|scarf|scarves|mugs?|bags?|necklaces?|bracelets?|soaps?|cushions?|blankets?|rugs?|vases?|"
    r"bowls?|plates?|jumpers?|hoodies?|coats?|gloves|belts?|wallets?|chargers?|laptops?|tablets?|"
    r"keyboards?|bottles?|jars?|pans?|knife|knives|clocks?|mirrors?|wardrobes?|bookcases?|bench(?:es)?|"
    r"stools?|hammocks?|trampolines?|"
    r"monitors?|glasses|trainers|cleaners?|washers?|blenders?|grills?|cots?|car seats?|rucksacks?|"
    r"suitcases?|"
    r"duvets?|pillows?|printers?|routers?|watch(?:es)?|earbuds|saws?|ladders?|trolleys?)(?![A-Za-z])"
)
"""What a thing is, behind its maker's name: "a Torvik 900 bread maker"."""
_NAME_WORDS = (
    r"(?:north|south|east|west|upper|lower|old|new|little|great|grand|big|high|long|low|sandy|stony|red|blue|"
    r"green|black|white|golden|gold|silver|copper|grey|pink|royal|saint|st|first|two|three|four|five|seven|"
    r"half|bright|quick|happy|lucky|sunny|holy|wild|river|lake|sea|ocean|moor|castle|park|hill|mill|bridge|"
    r"church|station|market|ferry|forest|wood|oak|elm|ash|cedar|willow|rose|apple|cherry|honey|bee|fox|"
    r"lion|eagle|swan|star|sun|moon|sky|stone|iron|crown|king|queen|bishop|friends of|bad|flat)"
)
"""Words with which names of firms and places begin, as they are written without a capital."""
_NAME_OPENS = (
    r"(?:North|South|East|West|Old|New|Upper|Lower|Little|Great|Grand|Royal|Saint|Green|Blue|Red|Black|White|"
    r"Golden|Silver|Copper|Happy|Lucky|Bright|Sunny|Central|National|Holy|River|Castle|Mill|Church|Station|"
    r"Bad|Friends of|First|Quick|Fresh|Young|Wild|Crown|King|Queen|Bishop|Moor|Park|Hill|Lake|Sea|"
    r"Ocean)"
)
"""Words with capitals with which names of firms and places begin, also where a line opens."""
_KINDS_OF_FIRMS = (
    r"(?:(?:rowing|sailing|football|cricket|rugby|tennis|golf|bowls|swimming|cycling|running|riding|boxing|"
    r"judo|karate|dance|ballet|music|community|children['\u2019]s|family|medical|dental|doctors|veterinary|vet|"
    r"housing|credit|parish|town|city|county|borough|district|window|carpet|estate|letting|driving|language|"
    r"care|nursing|retirement|day|residential|leisure|sports|social|working men['\u2019]s|youth|"
    r"allotment|"
    r"garden|primary|secondary|high|junior|infant|middle|grammar|catholic|sixth|health|fitness|police|fire|"
    r"train|bus|biscuit|chocolate|shoe|paper|textile|furniture|car|bike|book|coffee|pet|toy|farm|gift|"
    r"corner|charity|chip|fish|flower|wine) )?"
    r"(?:practice|practise|cent(?:re|er)|club|school|college|council|union|services|care|mediation|"
    r"association|society|agents?|agency|cleaning|home|house|form|forum|group|playgroup|pre-?school|"
    r"takeaway|shop|stores?|factory|works|mill|hall|church|chapel|rovers|rangers|united|choir|band|"
    r"theatre|studios?|station|park|arms|inn|hotel|brewery|farm|stables|kennels|vets|opticians|"
    r"physio|clinic|trust|foundation|charity|fund|garage|cars|taxis|cabs)\b"
)
"""What firms, schools and clubs are, behind their name, as it is written without a capital."""
_LEGAL = (
    r"(?:GmbH|G\.m\.b\.H\.|B\.?V\.?|bv|N\.V\.|Ltd|LTD|Limited|LLC|L\.L\.C\.|Inc|plc|PLC|AG|KG|UG|OHG|S\.A\.|SARL|SAS|"
    r"S\.L\.|S\.r\.l\.|SpA|AB|ApS|Oy|Pty|LLP|CIC|e\.V\.|eG|GbR)"
)
_LEGAL_END = re.compile(rf"(?<![\w]){_LEGAL}\.?\Z")
_AND_BEFORE = re.compile(r"(?<![\w'])(?:[A-Z][a-z]+ (?:and |& |of )?)*[A-Z][a-z]+ (?:and|&|of) \Z")
"""The legal form of a firm, and visible words before it: "Paper and Stone bv"."""
_NO_NAME_WORD = (
    r"(?:the|an?|my|our|his|her|their|your|its|this|that|these|those|some|any|all|no|and|or|but|of|in|on|at|to|"
    r"for|from|with|by|as|so|if|it|home|work|school|night|noon|least|most|first|last|once|times?|about|around|"
    r"nearby|local|new|other|another|both|each|every|lunch|dinner|breakfast|christmas|easter|half|one|two|three)"
)
_TAKEN_BEFORE = {
    "MONEY": re.compile(
        r"(?:(?:\b(?:R|CA|AU|A|US|NZ))?[$\u00a3\u20ac\u00a5\u20b9]|"
        rf"\b(?:{_CODES}|Rs\.?))\s?$"
    ),
    "DATE": re.compile(
        rf"(?:\b{_DAY}\.?,? (?:(?:the|at) )?|\b{MONTH}\.? (?:the )?|\byesterday (?:at )?|\bmid-|"
        r"\b(?i:half past|quarter (?:past|to)) |"
        r"\b[Ww]/[ce] |\b(?:the )?(?:first|second|third|fourth|fifth|1st|2nd|3rd) of |"
        r"\b(?:the )?(?:beginning|start|middle|end|(?:first|last|second|third) (?:week|days)) of |"
        r"\b(?:[Tt]he )?(?i:spring|summer|autumn|winter|wk) of |"
        r"\bQ[1-4] |\bweek |\b(?:last|next|early|late|mid) )+$"
    ),
    "PERSON": re.compile(
        r"\b(?:(?:big|little|young|old|Old|Big|Little|Young|Baby|Uncle|Auntie|Aunt|Grandma|Grandpa|Granny|"
        r"Nana) |"
        r"(?:deploy|svc|admin|user)[-_.]|(?:^|(?<=[|:,;(\n\"'])|(?<=\b(?:Mr|Dr|Ms|Mx) )|"
        r"(?<=\b(?:Mrs|Mr\.|Dr\.|Ms\.) )|(?<=\bMrs\. )|(?<=\b(?:Herr|Frau) ))"
        r"(?:van|von)(?: de[rn]?)? |"
        r"\b(?:van|von) de[rn] |\b(?:VAN|VON) (?:DE[RN] )?|\b(?:de la|de los|dos|della|ter) |"
        r"\b[a-z]\.|(?<![\w.@/])[a-z]{2,12}\.)$|"
        r"(?:(?<=\b(?:to|by) )|(?<=\b(?:and|for|ask) )|(?<=\b(?:from|with|tell) ))(?:[A-Z]\. ?)+$|"
        r"(?:^|(?<=[|:,;(\n\"] )|(?<=\n))[A-Z]\. $"
    ),
    "ID": re.compile(r"(?:\b(?:(?:[a-z]+|[A-Z]{2,6})[-_]|[A-Z]{1,6}/))+$"),
    "PRODUCT": re.compile(
        rf"\b(?:Project|Operation) $|(?<![.!?] )\b(?:Programme|Program) $|\b[A-Z][a-z]+ & $|"
        rf"{_CAPITALIZED}"
    ),
    "ORGANIZATION": re.compile(
        r"(?<=\bFrom: )[A-Z][a-z]+ $|"
        rf"\b[A-Z][a-z]+ & $|\b(?:Bad|Saint|St\.?|San|Santa) $|\b{_FIRMS_ABROAD} $|{_CAPITALIZED}|"
        rf"(?<=\bat )(?!{_NO_NAME_WORD}\b)[a-z]{{3,}} $|\b(?:{_NAME_OPENS} ){{1,2}}$|"
        rf"(?<=\b(?:at|to|in|by) )(?:{_NAME_WORDS} ){{1,2}}$|"
        rf"(?<=\bfrom )(?:{_NAME_WORDS} ){{1,2}}$|"
        rf"(?<=\b(?:with|near) )(?:{_NAME_WORDS} ){{1,2}}$"
    ),
    "PLACE": re.compile(
        rf"\b(?:Bad|Saint|St\.?|San|Santa|Upper|Lower|Great|Port|Mount) $|{_CAPITALIZED}|"
        rf"\b(?:{_NAME_OPENS} ){{1,2}}$|(?<=\b(?:at|to|in|on|by) )(?:{_NAME_WORDS} ){{1,2}}$|"
        rf"(?<=\bfrom )(?:{_NAME_WORDS} ){{1,2}}$|"
        rf"(?<=\b(?:with|near) )(?:{_NAME_WORDS} ){{1,2}}$"
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
        r"stomach|cystic|spinal|sleep|viral|bacterial|seasonal|sudden|"
        r"back|chest|eating|mental|panic|high|head|recovering|broken|fractured|torn|fake|sickle|"
        r"(?:early|late)-onset|egg|milk|type (?:one|two|[12])|heavy|irregular|borderline|terminal|"
        r"inoperable|congenital|partial|partially|postnatal|post-natal|clinical|early|moderate|"
        r"(?:secondary|primary) progressive|relapsing[- ]remitting|peanut|gluten|lactose|stress|"
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
_OF_MODEL = re.compile(
    rf" {_THINGS}|[,;)\n]|\.(?![0-9])|\Z| (?:from|is|was|with|came|has|had|arrived|broke|for|and|"
    rf"that|which|"
    r"does|will|in|model|series|edition|pro|plus|mini|max)\b",
    re.I,
)


def is_of_model(text: str, start: int, end: int) -> bool:
    """Return True if visible text after a number behind a product's name lets it be its model's.

    Example:
        >>> is_of_model("Torvik 900 bread maker", 10, 22), is_of_model("Torvik 11 ", 9, 10)
        (True, False)
    """
    return _OF_MODEL.match(text, start, end) is not None and start < end


_HANDLE = re.compile(r"(?:[._][a-z0-9_]{1,24}){1,3}(?!\w)")
_HOSTED = (
    r"(?:-(?:prod|stage|staging|dev|test|qa|uat|live)(?![\w-]))?"
    r"\.(?:int|lan|local|internal|corp)(?![\w-])|"
    r"-(?:prod|stage|staging|uat|east|west|north|south|eu|us|uk)(?![\w-])"
)
_TAKEN_AFTER = {
    "MONEY": re.compile(
        r"(?i:\s?(?:[\u20ac\u00a3%]|(?:million|billion|thousand|grand|mil|euros?|dollars?|pounds?|btc|eth|bucks|quid|"
        rf"cents|d\u00f3lares|pesos|soles|reais|coronas|francs|kroner|kronor|rupees|lakhs?|crores?|{_CODES}|k|m|bn)\b))*"
        r"(?i:(?:,-)? ?(?:/ ?(?:hour|hr|h|day|night|week|wk|month|mo|quarter|year|yr|annum|shift|"
        r"term|session|head|person)\b|p(?:cm|w|a)\b|p\.(?:a|m|w)\.))?"
        r"(?i: (?:gross|net|brutto|netto|brut|bruts|nets)\b)?"
    ),
    "NUMBER": re.compile(_NUMERAL_UNITS),
    "PLACE": re.compile(
        rf"{_HOSTED}| {_THINGS}|"
        r"(?i: (?:bridge|road|street|lane|avenue|house|court|park|square|close|hill|lake|sea|bay|"
        r"(?:bus|train|railway|police|fire|coach|petrol) station|services|retail park|car park|"
        r"caravan park|caravan site|campsite|parish council|town council|city council|council|"
        r"(?:industrial|business|trading|housing) (?:estate|park)|shopping cent(?:re|er)|town hall|"
        r"high street|market place|"
        r"island|village|estate|heights|terrace|crescent|gardens|grove|mews|cottage|farm|beach|"
        r"valley|forest|station|harbou?r|airport|beck|drive|boulevard|plaza)\b)?"
    ),
    "ID": re.compile(
        r"(?:[-_][a-z]{2,}(?![A-Za-z])|-[A-Z](?![\w-])|\.(?:int|lan|local|internal|corp|com|net|org|io|example)\b)+"
    ),
    "DATE": re.compile(
        rf"(?:(?:st|nd|rd|th|s|[ ]?[ap]\.?m\.?|[ ]?o['\u2019]clock)\b)?(?:[.,]? (?:of |de )?"
        rf"{MONTH}\b(?:(?<![yelhtr])\.(?=,? [a-z0-9]|,))?|,? (?:of |on )?(?:{_DAY}\b(?! \Z)|"
        rf"half[- ]term\b|bank holiday\b|"
        rf"(?:in the |at ){_PART_OF_DAY}\b|tomorrow\b|sharp\b))*"
    ),
    "PRODUCT": re.compile(
        rf"(?:[-_][a-z]+(?![A-Za-z]))+|(?: [A-Z][a-z]+)+(?![A-Za-z])(?: {_THINGS})?|(?: {_THINGS})"
    ),
    "PERSON": re.compile(
        r"-(?!(?:led|era|like|style|based|owned|run|free|related|type|ish|in|approved|made|born|made|day)\b)"
        r"[a-z]{2,6}(?![\w-])|"
        rf"{_HOSTED}|\.[b-hj-z](?=[\s,:;)]|\Z)|\. ?z ?o\. ?o\.| {_THINGS}|"
        r" (?:car park|caravan park|town hall|bus station|town council|parish council)\b|"
        rf"['\u2019]s (?:(?:biscuit|chocolate|shoe|paper|car|book|coffee|pet|toy|bike|fish|"
        rf"corner) )?"
        r"(?:factory|garage|shop|stores|brewery|bakery|butchers|garden cent(?:re|er))\b|"
        r" (?:House|Court|Holidays|HOLIDAYS|Travel|TRAVEL|Dental|DENTAL|Kitchens|KITCHENS|"
        r"Electrical|Logistics|Plumbing|Roofing|Motors|Foods|Solicitors|Lettings|"
        r"Builders|Bakery|Pharmacy|Surgery|Primary|Academy|Hotel|HOUSE|COURT|ELECTRICAL|LOGISTICS|"
        r"PLUMBING|ROOFING|MOTORS|FOODS|SOLICITORS|LETTINGS|BUILDERS|HOTEL)(?![A-Za-z])"
    ),
    "ORGANIZATION": re.compile(
        rf"{_HOSTED}|\. ?z ?o\. ?o\.|(?:['\u2019]s)? {_KINDS_OF_FIRMS}| {_THINGS}|"
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
        r"of the (?:throat|breast|bowel|lung|liver|skin|bladder|prostate|womb|stomach|spine|knee|"
        r"hip|hand|heart|eye|brain)|"
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
_OF_PERSONS = TOLD | {"SEXUALITY", "TREATMENT", "OCCUPATION"}
_COMPOUND = re.compile(r"(?<![^\s(\"'/])[A-Za-z]{2,}-$")
"""Visible first part of a word with a hyphen, such as "self-harming"."""
_NAMED_BEFORE = re.compile(r"(?i:\b(?:(?:early|late)-onset|type (?:one|two|[12]))[ -])$")
_NAMED_AFTER = re.compile(
    r"(?:['\u2019]s\b)?"
    r"(?i:[ -](?:disease|disorder|syndrome|infection|deficiency|intolerance|tumou?r)\b)?"
)
"""Words around a listed condition that are a part of its name, so that no other mention of it is
without them."""


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
    dated = before is not None and before.is_number
    if before is not None and dated and _DAY_BEFORE.fullmatch(found.text, before.end, run.start):
        return True
    following = runs[number + 1] if number + 1 < len(runs) else None
    if following is None or not following.is_number:
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
        if 0 <= i < len(runs) and runs[i].is_number:
            first, second = sorted((runs[i], runs[number]), key=lambda run: run.start)
            if text[first.end : second.start] in ("", " ", "\u00a0"):
                return True
    return False


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
    if kind == "ORGANIZATION" and _LEGAL_END.search(text, start, end):
        match = _AND_BEFORE.search(text, low, start)
        start = match.start() if match is not None else start
    before, after = _TAKEN_BEFORE.get(kind), _TAKEN_AFTER.get(kind)
    match = before.search(text, low, start) if before is not None else None
    if match is not None and match.end() == start:  # "$" is before a line's end as well
        start = match.start()
    if after is not None and (match := after.match(text[end:high])):
        end += len(match.group())
    return start, end


_MODIFIER = (
    r"(?!(?:the|an?|and|or|but|so|not|now|then|still|also|just|who|whom|as|is|was|am|are|be|been|to|of|in|at|"
    r"on|for|with|from|by|my|our|his|her|their|your|its|i|we|he|she|they|you|it|this|that|these|those|no|very|"
    r"good|great|bad|new|old|best|same|other|another|one|only|first|next|last|more|most|some|any|every|each|"
    r"such|than|like|has|had|have|helpful|proper|virtual|ai|voice|digital|password|package|file|task|code|text|"
    r"photo|image|window|game|access|level|version|dependency|context|ideal|perfect|potential|main|"
    r"right|wrong|current|previous|former|will|would|can|could|should|must|may|might|if|when|where|what|"
    r"which|there|here)\b)[A-Za-z]+[ -]"
)
_FUNCTION = (
    r"(?i:export|exports|import|imports|marketing|finance|sales|hr|human resources|it|operations|"
    r"production|"
    r"purchasing|procurement|legal|compliance|engineering|design|product|research|development|training|"
    r"quality|security|communications|admissions|logistics|planning|maths|english|science|music|sports?|"
    r"year|department|nursing|care|customer service|customer care|customer support|facilities|"
    r"people|talent|growth|data|digital|studies|school|service|services|safety|risk|audit|accounts|"
    r"accounting|payroll|retail|trade|housing|planning)"
)
_WORKERS = (
    rf"(?:{POST_SLOT}|(?i:accountant|adviser|advisor|agent|analyst|apprentice|assistant|attendant|buyer|carer|cashier|cleaner|clerk|coach|"
    r"consultant|controller|cook|coordinator|crew|creator|dealer|designer|developer|director|driver|editor|"
    r"engineer|farmer|fellow|fitter|groomer|guard|guide|handler|helper|inspector|instructor|intern|interpreter|"
    r"keeper|lead|leader|lecturer|maker|manager|mechanic|minder|nurse|officer|operative|operator|packer|"
    r"painter|partner|picker|pilot|planner|porter|preacher|producer|rep|reporter|representative|"
    r"researcher|rider|secretary|seller|sister|specialist|steward|student|supervisor|surgeon|surveyor|tailor|"
    r"teacher|technician|therapist|tiler|trainee|trainer|treasurer|tutor|walker|welder|worker|writer|"
    r"adjuster|artist|associate|breeder|broker|carrier|chaplain|checker|collector|comic|conductor|critic|cutter|"
    r"examiner|installer|invigilator|lawyer|marshal|mentor|moderator|nanny|organi[sz]er|professor|ranger|referee|"
    r"stacker|sweep|tech|tester|usher|vendor|warden|"
    r"(?<!home )(?<!dog )(?<!cat )(?<!pet )(?<!car )(?<!house )owner))"
)
_POSTS = (
    rf"(?:(?:{_MODIFIER}|[{POST_SLOT}{SLOT}][ -]){{1,3}}{_WORKERS}|(?:deputy |"
    rf"assistant )?[Hh]ead (?:of|"
    rf"for) {_FUNCTION}"
    rf"(?:(?: and| &) {_FUNCTION})?(?: [0-9]{{1,2}})?|"
    r"(?:[Dd]eputy|[Aa]ssistant|[Ee]xecutive) [Hh]ead|"
    rf"(?:[Dd]irector|[Mm]anager|[Cc]hief) of {_FUNCTION}|(?:[Vv]ice|[Dd]eputy|"
    rf"[Ss]chool)[ -][Pp]rincipal|"
    r"(?:[Hh]ealth|[Pp]rison) [Vv]isitor|(?:[A-Za-z]+ ){1,2}(?:[Cc]ouncil|[Cc]ommittee|"
    r"[Bb]oard) [Cc]hair|"
    r"(?:IT|[Tt]ech|[Cc]ustomer) (?i:support)|"
    r"SENCO|SENDCO|CFO|CTO|COO|[Ee]xporter|[Ii]mporter|[Ii]nterpreter|[Ff]itter|[Tt]ailor|[Tt]eacher|"
    r"[Tt]reasurer|[Ff]ireman|[Cc]arer|[Ww]elder|[Aa]u[ -]pair|[Ss]tay-at-home (?:mum|mom|dad|"
    r"mother|father)|"
    r"(?i:(?:harbou?r|station|scrum|choir|props) master|(?:farm|kitchen|stable|deck|factory|"
    r"shop) hand|"
    r"(?:dinner|lollipop|lunch|bin|maintenance|removal|delivery|milk|office|IT) (?:lady|man|boy|"
    r"guy|woman)|"
    r"(?:bar|ground|kitchen|waiting|ward|shop) staff|(?:crew|board|band) member|"
    r"editor[- ]in[- ]chief)|"
    r"[Pp]rofessional [a-z]+er)"
)
_NO_MORE = (
    r"(?![\w-]| (?:training|jobs?|role|position|team|support|service|skills?|rights|account)\b)"
)
_WORKS = re.compile(
    r"(?:\b(?i:i['\u2019]?m|i am|i was|(?:he|she|who)(?:['\u2019]s| is| was)|they['\u2019]re)"
    r"(?: (?i:currently|now|still|just|also|only|retired|training|studying))* "
    r"(?i:an? |the |our |their |your |my |his |her )?"
    rf"|\b(?i:(?:my|our|his|her|their) (?:[a-z]+(?:-in-law)?|"
    rf"[{SLOT}{PERSON_SLOT}])(?: [{SLOT}{PERSON_SLOT}])? (?:is|was) (?:an? |the ))"
    rf"|[{SLOT}{PERSON_SLOT}](?:['\u2019]s| is| was| is now| was once) (?i:an? |the |our |their |"
    rf"my |his |her )"
    r"|\b(?i:(?:works?|worked|working|employed|trained|retrained|retraining|started|began|job|career|"
    r"shifts?|position|hired|promoted) (?:\w+ )?(?:as|to) )(?i:an? |the |our |their |my |his |"
    r"her )?)"
    rf"(?P<post>{_POSTS}){_NO_MORE}"
)
"""Visible text that says as what somebody works, or what somebody learns."""
_BESIDE_NAME = re.compile(
    rf"(?:\b(?i:my|our|his|her|their|your|the|an?) |, |(?:^|\n)[-*\u2022]? ?)(?P<post>{_POSTS}|"
    rf"[Ss]ecretary),?:? "
    rf"(?:\(?(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Professor)\.? (?:[A-Z]\. ?)*)?{PERSON_SLOT}"
)
_LEAVES = re.compile(
    rf"\b(?i:my|our|his|her|their) (?P<post>{_POSTS}) (?:is|was|has|had|said|says|told|left|quit|"
    rf"wants|wanted|asked|"
    r"will|can|never|always|just|keeps|kept|got|who|and I|thinks|thought|called|sent|does|did|"
    r"went)\b"
)
_BEHIND_NAME = re.compile(
    rf"[{SLOT}{PERSON_SLOT}](?:,| \(| \||:| -| \u2013|;)[ ]?(?i:an? |the |our |my |his |her |"
    rf"their |"
    rf"currently |now |formerly |a former |former |retired )?(?P<post>{_POSTS}|[Ss]tudent|"
    rf"[Pp]ensioner|[Ss]ecretary)"
    r"(?=[ ]?[,;.|)\n:!?]| (?:at|in|for|with|since|who|from|and|on|of|-|\u2013)[ ]|\Z)"
)
_SIGNED_POST = re.compile(
    rf"{PERSON_SLOT}[ \t]*,?\n(?:[^\n]{{0,20}}\n)?[ \t>]*(?P<post>{_POSTS})(?=[ \t]*(?:\n|,|\||-|"
    rf"\u2013|/|\Z))"
)
_POST_FIELD = re.compile(
    r"(?i:\b(?:job(?:[ _-]title)?|occupation|profession|position|role|post|title|works[ _]as|"
    r"employment)\b)"
    rf"[\"']?[ ]?[:=|][ ]?[\"']?(?P<post>{_POSTS})(?=[ ]?[\"',;.|\n]|\Z)"
)
"""Visible text around what somebody works as: beside a name, below it in a letter, in a form."""
_ASKED = re.compile(r"(?i)\b(?:what|who)(?: exactly)?(?: is|'s| was| does| do|\u2019s) $")


def posts_in(shown: str) -> Iterator[Said]:
    """Yield what visible text says that somebody works as.

    Args:
        shown: visible text, hidden runs as slots, those of people and posts as slots of their own.

    Example:
        >>> list(posts_in("She works as a care assistant."))
        [Said(start=15, end=29, kind='OCCUPATION')]
    """
    for pattern in (_WORKS, _BESIDE_NAME, _LEAVES, _BEHIND_NAME, _SIGNED_POST, _POST_FIELD):
        for match in pattern.finditer(shown):
            if not _ASKED.search(shown, max(0, match.start() - 24), match.start()):
                yield Said(match.start("post"), match.end("post"), "OCCUPATION")


_FIRM_BY_FORM = re.compile(
    rf"(?P<name>(?<![\w'])(?!(?:The|A|An|At|In|For|From|By|Our|My|Your|Is|Dear|To|With|And)\b)"
    rf"(?:[A-Z][\w'\u2019-]*|[{SLOT}{PERSON_SLOT}])"
    rf"(?:(?: |-| & | and | of | for | the )(?:[A-Z][\w'\u2019-]*|"
    rf"[{SLOT}{PERSON_SLOT}])){{0,4}},? {_LEGAL})(?!\w)"
)
"""A firm by its legal form, whatever its name is made of: "Paper and Stone bv"."""
_NAMED_THING = re.compile(
    r"\b(?i:model|called|named|brand|product|project|app|shop|caf[\u00e9e]|restaurant|pub|bar|firm|company|business|"
    r"salon|team|band|store|stall|truck|blog|podcast|campaign|code ?name|line|collection|range) "
    r"(?P<name>[\"\u201c](?P<inside>[A-Z][a-z]+(?: (?:[A-Z][a-z]+|of|the|and|&)){0,3})[\"\u201d])"
)
_KEPT = (
    r"(?:the|a|an|my|our|his|her|their|your|its|this|that|these|those|some|any|all|no|not|and|or|but|of|in|on|at|to|"
    r"for|from|with|by|is|was|are|were|be|been|as|so|if|it|he|she|they|we|you|i|new|old|other|another|previous|"
    r"former|current|local|nearest|private|public|cheap|big|small|main|same|different|good|bad|best|next|last|first|"
    r"second|only|one|two|three|more|most|every|each|which|what|work|home|main|side|high|back|busy|quiet|long|narrow|"
    r"whole|wrong|right|private|company|own|main|short|dark|dirt|country|ring|toll|one-way|open|rail|slip)"
)
_FIRM_IN_LOWER = re.compile(
    rf"\b(?:at|from|with|for|near|is|called|named|joined|by|to|via|"
    rf"and) (?P<name>(?:the )?(?:(?!{_KEPT}\b)[a-z]+ (?:and )?){{1,3}}"
    r"(?:lettings|motors|plumbing|roofing|scaffolding|logistics|solicitors|bakery|nursery|pharmacy|vets|garage|"
    r"playgroup|takeaway|care home|credit union|estate agents|removals|mosque|primary school|"
    r"academy|opticians))(?![\w-])"
)
"""A firm that is written without capitals: "a mechanic at honest motors"."""
_STREET_IN_LOWER = re.compile(
    rf"\b(?:on|in|at|along|near|off|from|to|of|down|up) (?P<name>(?:high|"
    rf"(?!{_KEPT}\b)[a-z]{{3,}}) (?:street|road|lane|avenue|"
    r"crescent|terrace|mews|grove|st|rd|ave))(?![\w.-])"
)
_TITLED_IN_LOWER = re.compile(
    rf"\b(?:mr|mrs|ms) (?P<name>(?!{_KEPT}\b|(?:said|says|has|had|will|word|excel|office|teams|"
    rf"paint|access|"
    r"project|outlook|windows|sql|dos|edge|who|and|can|just|told|called)\b)[a-z]{3,})(?![\w-])"
)
"""A street and a person, written without capitals."""


def names_in(shown: str) -> Iterator[Said]:
    """Yield names that are made of visible words, by what is around them.

    Args:
        shown: as for `posts_in`.

    Example:
        >>> list(names_in("Yours, Paper and Stone bv"))
        [Said(start=7, end=25, kind='ORGANIZATION')]
    """
    for match in _FIRM_BY_FORM.finditer(shown):
        yield Said(match.start("name"), match.end("name"), "ORGANIZATION")
    for match in _NAMED_THING.finditer(shown):
        yield Said(match.start("inside"), match.end("inside"), "PRODUCT")
    if _LEAST_LOWER * sum(map(str.isupper, shown)) > len(shown):
        return
    for pattern, kind in (
        (_FIRM_IN_LOWER, "ORGANIZATION"),
        (_STREET_IN_LOWER, "PLACE"),
        (_TITLED_IN_LOWER, "PERSON"),
    ):
        for match in pattern.finditer(shown):
            start = match.start("name")
            start += len("the ") if match["name"].startswith("the ") else 0
            yield Said(start, match.end("name"), kind)


_LEAST_LOWER = 25  # letters for each capital where names are written without
_PERSONAL = re.compile(
    r"(?i)\b(?:i|im|i['\u2019]m|i['\u2019]ve|me|my|mine|we|our|us|he|she|his|her|hers|him|they|their|"
    r"patient|client|claimant|mr|mrs|ms|dr|"
    r"ich|mein\w*|er|sie|ihr\w*|sein\w*|wir|unser\w*|herr|frau|bin|"
    r"je|mon|ma|mes|il|elle|son|sa|ses|nous|notre|suis|madame|monsieur|"
    r"(?:brother|sister|mother|father|mum|mom|dad|son|daughter|husband|wife|aunt|uncle|boss|friend|"
    r"colleague|neighbou?r|bruder|schwester|vater|mutter|sohn|tochter|mann|chefin|freundin?|"
    r"nachbarin?|fr\u00e8re|s\u0153ur|p\u00e8re|m\u00e8re|fils|fille|mari|femme|voisine?|hermano|"
    r"hermana|padre|madre|hijo|hija|marido|mujer|esposa|esposo|vecina|vecino|jefa|jefe|t\u00eda)s?|"
    r"yo|mi|mis|su|sus|\u00e9l|ella|soy|tengo|nos|se\u00f1or|se\u00f1ora)\b|\bj['\u2019]|"
    + PERSON_SLOT
)


def is_of_somebody(shown: str) -> bool:
    """Return True if somebody occurs in visible text; phrases of no text of rules are private.

    Args:
        shown: as for `posts_in`.
    """
    return _PERSONAL.search(shown) is not None
