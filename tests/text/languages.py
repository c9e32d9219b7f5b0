"""Short texts in nine languages, written for these tests; all names in them are invented."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, ...]] = {
    "en": (
        "Dear Ms Marlowe, thank you for your letter. We will look into the delay and write to you "
        "again by Friday. Kind regards, Theo Larkin",
        "Please translate the following paragraph into plain language and keep it under 80 words.",
        "hey, can u check why the export button does nothing? tried it 3 times, still greyed out",
        "The printer on the second floor shows error 52 and stops after every page. Restarting did "
        "not help.",
        "Summarise the meeting notes in five bullet points, then list who has to do what.",
        "lol yeah same, gonna be late, pls save me a seat",
        "Write a short poem about a lighthouse in winter.",
        "I have been waiting for my order for three weeks now and nobody answers the phone.",
        "Convert this table to JSON and sort the rows by date.",
        "Mix the flour with the butter, add the eggs one at a time and bake for 40 minutes.",
        "omg teh file is gone agian, i swear i saved it yesterdya",
        "Explain the difference between a process and a thread to somebody who is new to this.",
    ),
    "de": (
        "Sehr geehrte Frau Brinkhaus, vielen Dank für Ihr Schreiben. Wir prüfen den Vorgang und "
        "melden uns bis Freitag. Mit freundlichen Grüßen, Jost Wendlaken",
        "Bitte übersetze den folgenden Absatz ins Englische und fasse ihn in drei Sätzen zusammen.",
        "hallo, weißt du warum der knopf nichts macht? hab es dreimal versucht, geht immer noch "
        "nicht",
        "Der Drucker im zweiten Stock zeigt Fehler 52 und bleibt nach jeder Seite stehen. Ein "
        "Neustart hat nicht geholfen.",
        "Schreibe eine höfliche Antwort auf diese Nachricht und schlage einen neuen Termin vor.",
        "bin gleich da, fangt schon mal ohne mich an, ich bring noch brot mit",
        "Ich warte seit drei Wochen auf meine Bestellung und niemand geht ans Telefon.",
        "Kannst du mir erklären, was der Unterschied zwischen diesen beiden Wörtern ist?",
        "Liebe Odine, wie geht es dir? Bei uns ist alles gut, nur das Wetter könnte besser sein.",
        "Das Mehl mit der Butter verrühren, die Eier dazugeben und 40 Minuten backen.",
        "Nach dem Update lässt sich die Datei nicht mehr öffnen. Ich habe das Programm schon neu "
        "installiert.",
        "Fasse das Protokoll der Sitzung in fünf Punkten zusammen und sage, wer was zu tun hat.",
    ),
    "fr": (
        "Madame Vauquelet, je vous remercie de votre lettre. Nous étudions votre demande et vous "
        "répondrons avant vendredi. Cordialement, Aubin Terrasol",
        "Traduis le paragraphe suivant en anglais et résume-le en trois phrases, s'il te plaît.",
        "salut, tu sais pourquoi le bouton ne fait rien ? j'ai essayé trois fois, toujours pareil",
        "L'imprimante du deuxième étage affiche l'erreur 52 et s'arrête après chaque page. Le "
        "redémarrage n'a rien changé.",
        "Écris une réponse polie à ce message et propose une autre date pour la réunion.",
        "j'arrive dans dix minutes, commencez sans moi, je prends du pain en route",
        "J'attends ma commande depuis trois semaines et personne ne répond au téléphone.",
        "Peux-tu m'expliquer la différence entre ces deux mots avec un exemple simple ?",
        "Chère Maëva, comment vas-tu ? Ici tout va bien, mais il pleut depuis une semaine.",
        "Mélangez la farine avec le beurre, ajoutez les œufs un par un et faites cuire 40 minutes.",
        "Depuis la mise à jour, le fichier ne s'ouvre plus. J'ai déjà réinstallé le programme.",
        "Résume le compte rendu de la réunion en cinq points et indique qui doit faire quoi.",
    ),
    "es": (
        "Estimada señora Belmontero: Muchas gracias por su carta. Vamos a revisar el caso y le "
        "responderemos antes del viernes. Un cordial saludo, Nuño Carvajalo",
        "Traduce el siguiente párrafo al inglés y resúmelo en tres frases, por favor.",
        "hola, sabes por qué el botón no hace nada? lo he intentado tres veces y sigue igual",
        "La impresora de la segunda planta muestra el error 52 y se para después de cada página. "
        "Reiniciar no ha servido de nada.",
        "Escribe una respuesta educada a este mensaje y propón otra fecha para la reunión.",
        "llego en diez minutos, empezad sin mí, yo llevo el pan",
        "Llevo tres semanas esperando mi pedido y nadie contesta al teléfono.",
        "¿Puedes explicarme la diferencia entre estas dos palabras con un ejemplo sencillo?",
        "Querida Iraide: ¿Cómo estás? Aquí todo va bien, aunque llueve desde hace una semana.",
        "Mezcla la harina con la mantequilla, añade los huevos uno a uno y hornea 40 minutos.",
        "Desde la actualización el archivo ya no se abre. Ya he instalado el programa otra vez.",
        "Resume el acta de la reunión en cinco puntos e indica quién tiene que hacer qué.",
    ),
    "it": (
        "Gentile signora Bellacorte, la ringrazio per la sua lettera. Esamineremo la richiesta e "
        "le risponderemo entro venerdì. Cordiali saluti, Elmo Trevisani",
        "Traduci il seguente paragrafo in inglese e riassumilo in tre frasi, per favore.",
        "ciao, sai perché il pulsante non fa niente? ho provato tre volte ma non succede nulla",
        "La stampante del secondo piano mostra l'errore 52 e si ferma dopo ogni pagina. Il riavvio "
        "non è servito a niente.",
        "Scrivi una risposta gentile a questo messaggio e proponi un'altra data per la riunione.",
        "arrivo tra dieci minuti, cominciate pure senza di me, porto io il pane",
        "Aspetto il mio ordine da tre settimane e nessuno risponde al telefono.",
        "Puoi spiegarmi la differenza tra queste due parole con un esempio semplice?",
        "Cara Fiorenza, come stai? Qui va tutto bene, anche se piove da più di una settimana.",
        "Mescolate la farina con il burro, aggiungete le uova una alla volta e cuocete 40 minuti.",
        "Dopo l'aggiornamento il file non si apre più. Ho già reinstallato il programma.",
        "Riassumi il verbale della riunione in cinque punti e indica chi deve fare che cosa.",
    ),
    "nl": (
        "Geachte mevrouw Duinkerk, hartelijk dank voor uw brief. Wij bekijken uw verzoek en "
        "antwoorden voor vrijdag. Met vriendelijke groet, Wiebe Oostra",
        "Vertaal de volgende alinea naar het Engels en vat hem samen in drie zinnen, alsjeblieft.",
        "hoi, weet jij waarom de knop niets doet? heb het drie keer geprobeerd, nog steeds niks",
        "De printer op de tweede verdieping geeft fout 52 en stopt na elke bladzijde. Opnieuw "
        "opstarten hielp niet.",
        "Schrijf een beleefd antwoord op dit bericht en stel een andere datum voor.",
        "ben er over tien minuten, begin maar zonder mij, ik neem brood mee",
        "Ik wacht al drie weken op mijn bestelling en niemand neemt de telefoon op.",
        "Kun je mij uitleggen wat het verschil is tussen deze twee woorden?",
        "Lieve Roelie, hoe gaat het met je? Hier is alles goed, al regent het al een week.",
        "Meng de bloem met de boter, voeg de eieren een voor een toe en bak alles 40 minuten.",
        "Sinds de update gaat het bestand niet meer open. Ik heb het programma al opnieuw "
        "geïnstalleerd.",
        "Vat de notulen van de vergadering samen in vijf punten en zeg wie wat moet doen.",
    ),
    "pl": (
        "Szanowna Pani Wierzbnicka, dziękujemy za list. Sprawdzimy zgłoszenie i odpowiemy do "
        "piątku. Z poważaniem, Zbyszko Lipnik",
        "Przetłumacz poniższy akapit na angielski i streść go w trzech zdaniach, proszę.",
        "cześć, wiesz czemu ten przycisk nic nie robi? próbowałem trzy razy i dalej nic",
        "Drukarka na drugim piętrze pokazuje błąd 52 i zatrzymuje się po każdej stronie. Ponowne "
        "uruchomienie nie pomogło.",
        "Napisz uprzejmą odpowiedź na tę wiadomość i zaproponuj inny termin spotkania.",
        "będę za dziesięć minut, zacznijcie beze mnie, ja przyniosę chleb",
        "Od trzech tygodni czekam na zamówienie i nikt nie odbiera telefonu.",
        "Czy możesz mi wyjaśnić różnicę między tymi dwoma słowami na prostym przykładzie?",
        "Kochana Dobrawo, co u ciebie? U nas wszystko dobrze, choć pada już od tygodnia.",
        "Wymieszaj mąkę z masłem, dodawaj po jednym jajku i piecz przez 40 minut.",
        "Po aktualizacji plik już się nie otwiera. Zainstalowałem program jeszcze raz.",
        "Streść protokół zebrania w pięciu punktach i napisz, kto ma co zrobić.",
    ),
    "zh": (
        "尊敬的女士：感谢您的来信。我们会尽快处理您的申请，并在星期五之前答复。此致敬礼",
        "请把下面的段落翻译成英文，并用三句话总结。",
        "你好，你知道为什么这个按钮没有反应吗？我试了三次，还是不行。",
        "二楼的打印机显示错误52，每打一页就停止。重新启动也没有用。",
        "请给这条消息写一个礼貌的回复，并建议另一个会议日期。",
        "我十分钟后到，你们先开始吧，我会带面包。",
        "我的订单已经等了三个星期，电话也没有人接。",
        "你能用一个简单的例子解释这两个词的区别吗？",
        "亲爱的朋友，你好吗？我们这里一切都好，只是下了一个星期的雨。",
        "把面粉和黄油混合，一个一个地加入鸡蛋，然后烤四十分钟。",
        "更新之后，文件打不开了。我已经重新安装了程序。",
        "请用五点总结会议记录，并说明每个人要做什么。",
    ),
    "ar": (
        "السيدة المحترمة، شكرا على رسالتكم. سوف ننظر في الطلب ونرد عليكم قبل يوم الجمعة. مع أطيب "
        "التحيات",
        "من فضلك ترجم الفقرة التالية إلى الإنجليزية ولخصها في ثلاث جمل.",
        "مرحبا، هل تعرف لماذا لا يعمل هذا الزر؟ حاولت ثلاث مرات ولم يحدث شيء",
        "الطابعة في الطابق الثاني تعرض الخطأ 52 وتتوقف بعد كل صفحة. إعادة التشغيل لم تساعد.",
        "اكتب ردا مهذبا على هذه الرسالة واقترح موعدا آخر للاجتماع.",
        "سأصل بعد عشر دقائق، ابدؤوا بدوني، سأحضر الخبز معي",
        "أنتظر طلبي منذ ثلاثة أسابيع ولا أحد يرد على الهاتف.",
        "هل يمكنك أن تشرح لي الفرق بين هاتين الكلمتين بمثال بسيط؟",
        "صديقتي العزيزة، كيف حالك؟ كل شيء بخير هنا، لكن المطر لم يتوقف منذ أسبوع.",
        "اخلطوا الدقيق مع الزبدة، ثم أضيفوا البيض واحدة بعد أخرى واخبزوا أربعين دقيقة.",
        "بعد التحديث لم يعد الملف يفتح. لقد أعدت تثبيت البرنامج.",
        "لخص محضر الاجتماع في خمس نقاط واذكر من عليه أن يفعل ماذا.",
    ),
}
"""Twelve texts of each language: letters, tickets, chats, instructions, recipes."""
