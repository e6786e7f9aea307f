import type { Language } from './language.ts';

/** Times stand in the dative: "seit 3 Tagen", "vor 3 Tagen". */
export const de = {
  languageCode: 'de',

  completed: 'hat den Test abgeschlossen',
  didNotTake: 'ist nicht zum Test angetreten',
  canceled: 'Test abgesagt',
  titleCompleted: 'Abgeschlossen',
  titleDidNotTake: 'Nicht angetreten',
  titleCanceled: 'Abgesagt',
  countCompleted: '{count} abgeschlossen',
  countDidNotTake: '{count} nicht angetreten',
  countCanceled: '{count} abgesagt',

  testNumber: 'Test {id}',
  testTitle: 'Test: {test}',
  candidateCompleted: 'Kandidat/in {candidate} {status}',
  candidateDidNotTake: 'Kandidat/in {candidate} {status}',
  candidateCanceled: 'Kandidat/in {candidate}: {status}',
  shortCompleted: '{test}: Kandidat/in {candidate} {status}',
  shortDidNotTake: '{test}: Kandidat/in {candidate} {status}',
  shortCanceled: '{test}: Kandidat/in {candidate}, {status}',
  namedCompleted: '{name} {status}',
  namedDidNotTake: '{name} {status}',
  namedCanceled: '{name}: {status}',
  personCompleted: '{name} hat {test} abgeschlossen',
  personDidNotTake: '{name} ist nicht zu {test} angetreten',
  personCanceled: '{name}: {test}, Test abgesagt',
  withPercent: '{message}: {score}\u00a0%',
  withScore: '{message}: {score}',
  ids: 'Kandidaten-ID {candidate} | Test-ID {test}',
  received: 'Eingegangen: {time}',
  openCandidate: 'Profil öffnen',
  openReport: 'Bericht öffnen',
  notKnown: 'nicht bekannt',

  whatNext: 'Nächster Schritt:',
  nextCompleted: 'Das Ergebnis steht im Testportal.',
  nextDidNotTake: 'Es gibt kein Ergebnis. Bitte entscheiden, ob noch einmal eingeladen wird.',
  nextCanceled: 'Es wird kein Ergebnis geben. Falls das nicht so gewollt war: noch einmal einladen.',
  nextResults: 'Die Ergebnisse stehen im Testportal.',
  nextNoResults:
    'Wo niemand angetreten ist oder der Test abgesagt wurde, gibt es kein Ergebnis: Bitte entscheiden, wer noch einmal eingeladen wird.',

  candidates: { one: '{count} Person', other: '{count} Personen' },
  tests: { one: '{count} Test', other: '{count} Tests' },
  digest: '{candidates}, {tests}: {counts}',
  more: '… und {count} weitere',
  moreInText: '… und {count} weitere: Im Klartext dieser E-Mail stehen alle',

  item: '{name}: {value}',
  labelTest: 'Test',
  labelEmail: 'E-Mail',
  labelReceived: 'Eingegangen',
  labelWhat: 'Was',
  labelSince: 'Seit',
  labelBegan: 'Beginn',
  labelFrom: 'Ab',
  sentBy: 'Gesendet von Candidate Connector.',

  noticeTitle: 'Candidate Connector: {notice}',
  noticeTitleLate: 'Candidate Connector, verspätet: {notice}',
  toldLate: 'Verspätet gesendet. Stand: {time}.',
  badgeTrouble: 'Candidate Connector braucht Hilfe',
  badgeRecovered: 'Candidate Connector läuft wieder',
  badgeSummary: 'Candidate Connector, Wochenübersicht',
  noticeDead: {
    one: '{count} Zustellung an {sink} aufgegeben',
    other: '{count} Zustellungen an {sink} aufgegeben',
  },
  noticeMissed: {
    one: '{count} Zustellung an {sink} ging hinaus, aber nicht wie gewollt',
    other: '{count} Zustellungen an {sink} gingen hinaus, aber nicht wie gewollt',
  },
  noticeHeld: {
    one: '{count} Zustellung an {sink} wartet auf eine Entscheidung',
    other: '{count} Zustellungen an {sink} warten auf eine Entscheidung',
  },
  noticePaused: 'Nachrichten an {sink} gehen nicht hinaus',
  noticeLookup: 'Die Abfrage {lookup} bekommt keine Antwort',
  noticeConfig: 'Die Konfiguration hat einen Fehler',
  noticeRefused: {
    one: '{count} Ereignis abgelehnt, von {from}',
    other: '{count} Ereignisse abgelehnt, von {from}',
  },
  noticeSilence: 'Kein Ereignis seit {time}',
  noticeSummary: { one: 'Wochenübersicht: {count} Ereignis', other: 'Wochenübersicht: {count} Ereignisse' },
  noticeWorks: '{sink} funktioniert wieder',
  noticeLookupWorks: 'Die Abfrage {lookup} funktioniert wieder',
  noticeInForce: 'Die geänderte Konfiguration gilt',
  since: 'Seit {time}',
  began: 'Beginn: {time}',
  from: 'Ab {time}',

  days: { one: '{count} Tag', other: '{count} Tagen' },
  hours: { one: '{count} Stunde', other: '{count} Stunden' },
  minutes: { one: '{count} Minute', other: '{count} Minuten' },
  seconds: { one: '{count} Sekunde', other: '{count} Sekunden' },

  deadDetail: {
    one: 'Eine Zustellung an {sink} musste aufgegeben werden. {reason}',
    other: '{count} Zustellungen an {sink} mussten aufgegeben werden. {reason}',
  },
  deadAdvice:
    'Die Ursache beheben, oder dies an jemanden weiterleiten, der es kann. Um wen es geht, steht auf der Betriebsseite unter „Needs a person“. Dann noch einmal senden: {command}',
  missedDetail: {
    one: 'Eine Zustellung an {sink} ging hinaus, aber nicht wie gewollt. {reason}',
    other: '{count} Zustellungen an {sink} gingen hinaus, aber nicht wie gewollt. {reason}',
  },
  missedAdvice:
    'Beheben, was da steht. Wer ausgelassen wurde, ist selbst zu benachrichtigen, oder die Nachricht geht noch einmal an alle: {command} nimmt die IDs der Zustellungen. Eine Zeile bitte nicht noch einmal senden: Sie stünde zweimal da.',
  heldDetail: {
    one: 'Bei einer Zustellung an {sink} ist ungewiss, ob sie angekommen ist, und nur ein Mensch kann es feststellen. {reason}',
    other:
      'Bei {count} Zustellungen an {sink} ist ungewiss, ob sie angekommen sind, und nur ein Mensch kann es feststellen. {reason}',
  },
  heldAdvice: 'Dort nachsehen, dann noch einmal senden oder verwerfen, was dies auflistet: {command}',
  pausedDetail: 'Seit {time} ist keine Nachricht an {sink} hinausgegangen.',
  failingDetail: {
    one: '{count} Versuch, etwas an {sink} zu senden, ist in {time} gescheitert, und keiner ist gelungen.',
    other:
      '{count} Versuche, etwas an {sink} zu senden, sind in {time} gescheitert, und keiner ist gelungen.',
  },
  flappingDetail:
    'Nachrichten an {sink} scheitern seit {time} immer wieder, und seit {last} ist keine hinausgegangen.',
  lookupDetail: 'Die Abfrage {lookup} bekommt seit {time} keine Antwort.',
  messagesWait: 'Die Nachrichten warten, und keine geht verloren.',
  eventsWait: 'Ereignisse warten darauf; ist ihr waitFor vorbei, wird ohne sie entschieden.',
  pausedAdvice:
    'Das beheben, oder dies an jemanden weiterleiten, der es kann. {afterwards} Ob es funktioniert, zeigt: {check}. Sofort versuchen: {retry}',
  forgottenDetail:
    '{sink} ist seit {time} angehalten (von {who}), und Nachrichten warten darauf. Keine geht verloren.',
  lookupForgottenDetail: 'Die Abfrage {lookup} ist seit {time} angehalten (von {who}).',
  forgottenAdvice: 'Weiter geht es mit: {resume}. Eine Pause mit Ende geht von selbst weiter: {pause}',
  messagesGoOn:
    'Die Nachrichten gehen dann von selbst hinaus; nur solche, die inzwischen aufgegeben wurden, müssen noch einmal gesendet werden.',
  eventsGoOn: 'Was dann wartet, wird mit dem Ergebnis der Abfrage entschieden.',
  configDetail:
    'Die geänderte Konfiguration wurde abgelehnt. {problem} Was vor {time} geladen wurde, gilt weiter.',
  moreProblems: { one: 'Es gibt noch einen Fehler.', other: 'Es gibt noch {count} weitere Fehler.' },
  configAdvice:
    'Die Datei berichtigen: Sie wird von selbst geladen, wenn sie sich ändert. Vorher nicht neu starten: Der Start würde misslingen oder die Datei so in Kraft setzen, wie sie ist. Alle Fehler zeigt: {command}',
  refusedDetail: {
    one: '{count} Ereignis von {from} wurde abgelehnt: {why}',
    other: '{count} Ereignisse von {from} wurden abgelehnt: {why}',
  },
  andMore: '{list} und {count} weiteren',
  whyStore: 'Der Speicher war nicht beschreibbar',
  whyConnections: 'Es waren mehr Verbindungen offen, als Platz haben',
  whyAddress: 'Die Konfiguration erlaubt von dort keine Ereignisse',
  whyToken: 'Der Token fehlte oder war falsch',
  whyPath: 'Die URL hatte einen anderen Pfad als receiver.path oder führte zu admin.port',
  whyContent: 'Was kam, war kein gültiges Ereignis',
  adviceStore:
    'Der Dienst sendet ein Ereignis noch einmal und dann nie wieder: dort nachsehen, wer inzwischen fertig wurde, und im Log die Ursache suchen. Mit einem Export von dort findet {command} sie.',
  adviceConnections:
    'Eine Verbindung ohne Platz wird geschlossen, bevor ihre Anfrage gelesen ist; nicht jede muss ein Ereignis gewesen sein. Wer sendet, oder ein Proxy davor, soll weniger zugleich öffnen; sind es nicht viele, nachsehen, was die Antworten langsam macht. Mit einem Export des Dienstes findet {command}, wer fehlt.',
  adviceAddress:
    'Ist das der Dienst, gehört seine Adresse in receiver.allowFrom ([published, …]). Ist es ein eigener Proxy, fehlt receiver.trustProxy, und nur was der Dienst kennt, ist mit seiner ID aufzunehmen: Hinter einem Proxy kann jeder stehen.',
  adviceProxy:
    '{from} sieht nach einem eigenen Proxy aus, hinter dem jeder stehen kann: zuerst receiver.trustProxy setzen, bei einem Proxy auf 1, bei zweien auf 2; jeder muss X-Forwarded-For ergänzen.',
  adviceToken: 'receiver.token mit der „Webhook URL“ im Konto des Dienstes vergleichen.',
  advicePath:
    'receiver.path mit dem Pfad der „Webhook URL“ im Konto des Dienstes vergleichen; den aufgerufenen Pfad nennt das Log. Aufzurufen ist der Port receiver.port.',
  adviceContent:
    '{list} sagt, was daran falsch war. Vielleicht hat der Dienst geändert, was er sendet: dann dort im Konto berichtigen, oder den Connector aktualisieren. Wer fehlt, findet sich mit einem Export des Dienstes.',
  takeIn:
    'Was davon aufbewahrt ist, listet {list}, und {accept} nimmt es auf; wer dort fehlt, steht im Dienst. {ignore} wirft weg, was nicht aufgenommen wurde.',
  takeInById:
    'Was davon aufbewahrt ist, listet {list}. Mit dem Dienst vergleichen und nur aufnehmen, was er kennt, mit der ID: {accept}. Wer in der Liste fehlt, steht im Dienst. {ignore} wirft weg, was nicht aufgenommen wurde.',
  requestsCount: 'Jede Anfrage zählt, auch wenn der Dienst ein Ereignis noch einmal sendet.',
  refusedOnce: 'Es kam vor {time}.',
  refusedOften: 'Das erste kam vor {first}, das letzte vor {last}.',
  putAway: 'Wenn das erledigt ist: {command}',
  silenceDetail: 'Seit {time} ist kein Ereignis gekommen.',
  silenceAdvice:
    'Falls seitdem Tests gemacht wurden: prüfen, ob die „Webhook URL“ im Konto des Testdienstes noch hierher führt.',
  worksDetail: '{sink} funktioniert wieder, nach {time}. Die Zustellungen, die gewartet haben, gehen weiter.',
  worksAdvice: 'Für sie ist nichts zu tun. Was inzwischen aufgegeben wurde, listet: {command}',
  lookupWorksDetail:
    'Die Abfrage {lookup} funktioniert wieder, nach {time}. Was auf sie gewartet hat, geht weiter.',
  lookupUnanswered: 'Inzwischen ohne ihre Antwort entschieden: {events}.',
  lookupWorksAdvice:
    'Was inzwischen ohne sie entschieden wurde, hat vielleicht niemand erfahren: {command} fragt neu, und {apply} sendet dann, was die Regeln verlangen.',
  inForceDetail: 'Die geänderte Konfiguration gilt jetzt, nach {time}.',
  nothingToDo: 'Es ist nichts zu tun.',

  noEvents: 'Es kam kein Ereignis.',
  events: { one: '{count} Ereignis', other: '{count} Ereignisse' },
  deliveriesTo: 'Zustellungen an {sink}',
  stateDelivered: '{count} zugestellt',
  statePending: '{count} wartend',
  stateSending: '{count} unterwegs',
  stateDead: '{count} aufgegeben',
  stateHeld: '{count} angehalten',
  stateDiscarded: '{count} verworfen',
  moreTests: { one: '… und {count} weiterer Test', other: '… und {count} weitere Tests' },
  moreSinks: { one: '… und {count} weiteres Ziel', other: '… und {count} weitere Ziele' },
  nothingNeeded: 'Niemand muss etwas tun.',
  need: '{what}. Siehe: {command}.',
  needServed: 'Kein Connector bedient den Speicher',
  needUnwritable: 'Der Speicher ist nicht beschreibbar: {why}',
  needUnsent: 'Was wartet, kann nicht gesendet werden: {why}',
  needRescued: 'Der Speicher ist im Betrieb ersetzt worden; was er hatte, steht in {file}',
  needUnread: 'Ereignisse in Folge, die nicht lesbar waren: {count}',
  needConfig: 'Die geänderte Konfiguration ist abgelehnt',
  needBroken: 'Die geltende Konfiguration verletzt eine Policy',
  needSecrets: 'Die geänderten Zugangsdaten von {sinks} funktionieren nicht',
  needRestart: 'Geänderte Schlüssel warten auf einen Neustart',
  needDiffer: 'Die Connectoren am selben Speicher haben verschiedene Konfigurationen',
  needClosed: 'Der Admin-Port lässt niemanden ein, weil sein Passwort zu kurz ist',
  needDown: 'Zurzeit gestört: {sinks}',
  needForgotten: 'Noch von Hand angehalten: {sinks}',
  needGone: 'Wartet auf ein Ziel, das nicht mehr in der Konfiguration steht: {list}',
  needEmpty: 'Abfragen, die nicht mehr finden, was sie bisher fanden: {list}',
  needFailing: 'Scheitert seit einer Stunde oder länger: {list}',
  needDead: 'Aufgegeben: {list}',
  needHeld: 'Wartet auf eine Entscheidung: {list}',
  countTo: '{count} an {sink}',
  lookup: 'Abfrage {lookup}',
} as const satisfies Language<'one'>;
