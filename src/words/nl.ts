import type { Language } from './language.ts';

export const nl = {
  languageCode: 'nl',

  completed: 'heeft de test afgerond',
  didNotTake: 'heeft de test niet gemaakt',
  canceled: 'test geannuleerd',
  titleCompleted: 'Afgerond',
  titleDidNotTake: 'Niet gemaakt',
  titleCanceled: 'Geannuleerd',
  countCompleted: '{count} afgerond',
  countDidNotTake: '{count} niet gemaakt',
  countCanceled: '{count} geannuleerd',

  testNumber: 'Test {id}',
  testTitle: 'Test: {test}',
  candidateCompleted: 'Kandidaat {candidate} {status}',
  candidateDidNotTake: 'Kandidaat {candidate} {status}',
  candidateCanceled: 'Kandidaat {candidate}: {status}',
  shortCompleted: '{test}: kandidaat {candidate} {status}',
  shortDidNotTake: '{test}: kandidaat {candidate} {status}',
  shortCanceled: '{test}: kandidaat {candidate}, {status}',
  namedCompleted: '{name} {status}',
  namedDidNotTake: '{name} {status}',
  namedCanceled: '{name}: {status}',
  personCompleted: '{name} heeft {test} afgerond',
  personDidNotTake: '{name} heeft {test} niet gemaakt',
  personCanceled: '{name}: {test}, test geannuleerd',
  withPercent: '{message}: {score}%',
  withScore: '{message}: {score}',
  ids: 'Kandidaat-id {candidate} | Test-id {test}',
  received: 'Ontvangen: {time}',
  openCandidate: 'Kandidaat openen',
  openReport: 'Rapport openen',
  notKnown: 'niet bekend',

  whatNext: 'Wat nu:',
  nextCompleted: 'Bekijk het resultaat in de testomgeving.',
  nextDidNotTake: 'Er is geen resultaat. Beslis of de kandidaat opnieuw wordt uitgenodigd.',
  nextCanceled: 'Er komt geen resultaat. Was dat niet de bedoeling, nodig de kandidaat dan opnieuw uit.',
  nextResults: 'Bekijk de resultaten in de testomgeving.',
  nextNoResults:
    'Waar een test niet is gemaakt of is geannuleerd, is er geen resultaat: beslis wie opnieuw wordt uitgenodigd.',

  candidates: { one: '{count} kandidaat', other: '{count} kandidaten' },
  tests: { one: '{count} test', other: '{count} tests' },
  digest: '{candidates}, {tests}: {counts}',
  more: '… en nog {count}',
  moreInText: '… en nog {count}: de platte tekst van deze e-mail heeft ze allemaal',

  item: '{name}: {value}',
  labelTest: 'Test',
  labelEmail: 'E-mail',
  labelReceived: 'Ontvangen',
  labelWhat: 'Wat',
  labelSince: 'Sinds',
  labelBegan: 'Begin',
  labelFrom: 'Vanaf',
  sentBy: 'Verzonden door Candidate Connector.',

  noticeTitle: 'Candidate Connector: {notice}',
  noticeTitleLate: 'Candidate Connector, vertraagd: {notice}',
  toldLate: 'Vertraagd verstuurd. Stand: {time}.',
  badgeTrouble: 'Candidate Connector heeft iemand nodig',
  badgeRecovered: 'Candidate Connector werkt weer',
  badgeSummary: 'Candidate Connector, weekoverzicht',
  noticeDead: {
    one: '{count} levering aan {sink} opgegeven',
    other: '{count} leveringen aan {sink} opgegeven',
  },
  noticeMissed: {
    one: '{count} levering aan {sink} ging uit, maar niet zoals bedoeld',
    other: '{count} leveringen aan {sink} gingen uit, maar niet zoals bedoeld',
  },
  noticeHeld: {
    one: '{count} levering aan {sink} wacht op een beslissing',
    other: '{count} leveringen aan {sink} wachten op een beslissing',
  },
  noticePaused: 'Berichten aan {sink} gaan niet uit',
  noticeLookup: 'De opvraging {lookup} krijgt geen antwoord',
  noticeConfig: 'De configuratie heeft een fout',
  noticeRefused: {
    one: '{count} gebeurtenis geweigerd, van {from}',
    other: '{count} gebeurtenissen geweigerd, van {from}',
  },
  noticeSilence: 'Geen gebeurtenis sinds {time}',
  noticeSummary: {
    one: 'Weekoverzicht: {count} gebeurtenis',
    other: 'Weekoverzicht: {count} gebeurtenissen',
  },
  noticeWorks: '{sink} werkt weer',
  noticeLookupWorks: 'De opvraging {lookup} werkt weer',
  noticeInForce: 'De gewijzigde configuratie is van kracht',
  since: 'Sinds {time}',
  began: 'Begin: {time}',
  from: 'Vanaf {time}',

  days: { one: '{count} dag', other: '{count} dagen' },
  hours: '{count} uur',
  minutes: { one: '{count} minuut', other: '{count} minuten' },
  seconds: { one: '{count} seconde', other: '{count} seconden' },

  deadDetail: {
    one: 'Een levering aan {sink} moest worden opgegeven. {reason}',
    other: '{count} leveringen aan {sink} moesten worden opgegeven. {reason}',
  },
  deadAdvice:
    'Verhelp de oorzaak, of stuur dit door aan iemand die dat kan. Om wie het gaat, staat op de beheerpagina onder ‘Needs a person’. Verstuur ze daarna opnieuw: {command}',
  missedDetail: {
    one: 'Een levering aan {sink} ging uit, maar niet zoals bedoeld. {reason}',
    other: '{count} leveringen aan {sink} gingen uit, maar niet zoals bedoeld. {reason}',
  },
  missedAdvice:
    'Herstel wat er staat. Is er iemand overgeslagen, breng die dan zelf op de hoogte, of stuur het bericht iedereen opnieuw: {command} neemt de id’s van de leveringen. Stuur een rij niet opnieuw: dan staat die er twee keer.',
  heldDetail: {
    one: 'Van een levering aan {sink} is onzeker of ze is aangekomen, en alleen een mens kan dat nagaan. {reason}',
    other:
      'Van {count} leveringen aan {sink} is onzeker of ze zijn aangekomen, en alleen een mens kan dat nagaan. {reason}',
  },
  heldAdvice: 'Kijk daar, en verstuur of verwerp dan wat dit toont: {command}',
  pausedDetail: 'Er is al {time} geen bericht aan {sink} uitgegaan.',
  failingDetail: {
    one: '{count} poging om iets aan {sink} te sturen is in {time} mislukt, en geen enkele is gelukt.',
    other: '{count} pogingen om iets aan {sink} te sturen zijn in {time} mislukt, en geen enkele is gelukt.',
  },
  flappingDetail:
    'Berichten aan {sink} mislukken al {time} telkens weer, en er is al {last} niets uitgegaan.',
  lookupDetail: 'De opvraging {lookup} krijgt al {time} geen antwoord.',
  messagesWait: 'De berichten wachten, en er gaat er geen verloren.',
  eventsWait: 'Gebeurtenissen wachten erop; is hun waitFor voorbij, dan wordt zonder antwoord beslist.',
  pausedAdvice:
    'Herstel dit, of stuur dit door aan iemand die dat kan. {afterwards} Of het werkt, toont: {check}. Om het meteen te proberen: {retry}',
  forgottenDetail:
    '{sink} staat al {time} op pauze (door {who}), en er wachten berichten. Er gaat er geen verloren.',
  lookupForgottenDetail: 'De opvraging {lookup} staat al {time} op pauze (door {who}).',
  forgottenAdvice: 'Om door te gaan: {resume}. Een pauze met een einde stopt vanzelf: {pause}',
  messagesGoOn:
    'De berichten gaan dan vanzelf uit, behalve die intussen zijn opgegeven: die moeten opnieuw worden verstuurd.',
  eventsGoOn: 'Wat dan wacht, wordt beslist met het antwoord.',
  configDetail:
    'De gewijzigde configuratie is geweigerd. {problem} Wat {time} geleden is geladen, blijft van kracht.',
  moreProblems: { one: 'Er is nog een fout.', other: 'Er zijn nog {count} fouten.' },
  configAdvice:
    'Verbeter het bestand: het wordt vanzelf geladen als het verandert. Start niet eerder opnieuw: dat zou mislukken, of het bestand toepassen zoals het is. Alle fouten toont: {command}',
  refusedDetail: {
    one: '{count} gebeurtenis van {from} is geweigerd: {why}',
    other: '{count} gebeurtenissen van {from} zijn geweigerd: {why}',
  },
  andMore: '{list} en nog {count}',
  whyStore: 'er kon niet naar de opslag worden geschreven',
  whyConnections: 'er stonden meer verbindingen open dan er plaats is',
  whyAddress: 'de configuratie staat vandaar geen gebeurtenissen toe',
  whyToken: 'het token ontbrak of was onjuist',
  whyPath: 'de URL had een ander pad dan receiver.path',
  whyContent: 'wat er kwam was geen geldige gebeurtenis',
  adviceStore:
    'De dienst stuurt een gebeurtenis nog één keer en daarna nooit meer: kijk daar wie intussen klaar is, en zoek de oorzaak in het logboek. Met een export ervan vindt {command} ze.',
  adviceConnections:
    'Een verbinding zonder plaats wordt gesloten voordat haar verzoek is gelezen; misschien was niet elke een gebeurtenis. Laat de afzender, of een proxy ervoor, er minder tegelijk openen; zijn het er niet veel, kijk dan wat de antwoorden traag maakt. Met een export van de dienst vindt {command} wie ontbreekt.',
  adviceAddress:
    'Is dat de dienst, voeg het adres dan toe aan receiver.allowFrom ([published, …]). Is het een eigen proxy, stel dan receiver.trustProxy in en neem alleen op wat de dienst kent, met de id: achter een proxy kan iedereen zitten.',
  adviceProxy:
    '{from} lijkt een eigen proxy te zijn, waar iedereen achter kan zitten: stel eerst receiver.trustProxy in, op 1 voor één proxy, op 2 voor twee; elk moet X-Forwarded-For aanvullen.',
  adviceToken: 'Vergelijk receiver.token met de ‘Webhook URL’ in het account van de dienst.',
  advicePath:
    'Vergelijk receiver.path met het pad van de ‘Webhook URL’ in het account van de dienst; het aangeroepen pad staat in het log.',
  adviceContent:
    '{list} zegt wat eraan mankeerde. Misschien heeft de dienst veranderd wat hij stuurt: zet dat dan recht in het account ervan, of werk de connector bij. Wie ontbreekt, vind je met een export van de dienst.',
  takeIn:
    'Wat ervan is bewaard, toont {list}, en {accept} neemt het op; kijk in de dienst wie er ontbreekt. {ignore} gooit weg wat niet is opgenomen.',
  takeInById:
    'Wat ervan is bewaard, toont {list}. Vergelijk dat met de dienst en neem alleen op wat die kent, met de id: {accept}. Kijk daar ook wie niet in de lijst staat. {ignore} gooit weg wat niet is opgenomen.',
  requestsCount: 'Elk verzoek telt, ook als de dienst een gebeurtenis opnieuw stuurt.',
  refusedOnce: 'Die kwam {time} geleden.',
  refusedOften: 'De eerste kwam {first} geleden, de laatste {last} geleden.',
  putAway: 'Als dat gedaan is: {command}',
  silenceDetail: 'Er is al {time} geen gebeurtenis binnengekomen.',
  silenceAdvice:
    'Zijn er sindsdien tests gemaakt, controleer dan of de ‘Webhook URL’ in het account van de testdienst nog hierheen leidt.',
  worksDetail: '{sink} werkt weer, na {time}. De leveringen die wachtten gaan door.',
  worksAdvice: 'Daarvoor hoeft niets te gebeuren. Wat intussen is opgegeven, toont: {command}',
  lookupWorksDetail: 'De opvraging {lookup} werkt weer, na {time}. Wat erop wachtte gaat door.',
  lookupUnanswered: 'Intussen zonder antwoord beslist: {events}.',
  lookupWorksAdvice:
    'Waarover intussen zonder antwoord is beslist, is misschien aan niemand gemeld: {command} vraagt opnieuw, en {apply} stuurt daarna wat de regels vragen.',
  inForceDetail: 'De gewijzigde configuratie is nu van kracht, na {time}.',
  nothingToDo: 'Er hoeft niets te gebeuren.',

  noEvents: 'Er kwam geen gebeurtenis binnen.',
  events: { one: '{count} gebeurtenis', other: '{count} gebeurtenissen' },
  deliveriesTo: 'Leveringen aan {sink}',
  stateDelivered: '{count} geleverd',
  statePending: '{count} in de wacht',
  stateSending: '{count} onderweg',
  stateDead: '{count} opgegeven',
  stateHeld: '{count} aangehouden',
  stateDiscarded: '{count} verworpen',
  moreTests: { one: '… en nog {count} test', other: '… en nog {count} tests' },
  moreSinks: { one: '… en nog {count} bestemming', other: '… en nog {count} bestemmingen' },
  nothingNeeded: 'Niemand hoeft iets te doen.',
  need: '{what}. Zie: {command}.',
  needServed: 'Geen connector bedient de opslag',
  needUnwritable: 'Er kan niet naar de opslag worden geschreven: {why}',
  needUnsent: 'Wat wacht, kan niet worden verstuurd: {why}',
  needConfig: 'De gewijzigde configuratie is geweigerd',
  needBroken: 'De geldende configuratie schendt een policy',
  needSecrets: 'De gewijzigde inloggegevens van {sinks} werken niet',
  needRestart: 'Gewijzigde sleutels wachten op een herstart',
  needClosed: 'De beheerpoort laat niemand binnen, omdat het wachtwoord te kort is',
  needDown: 'Nu buiten werking: {sinks}',
  needForgotten: 'Nog met de hand gepauzeerd: {sinks}',
  needGone: 'Wacht op een bestemming die niet meer in de configuratie staat: {list}',
  needFailing: 'Mislukt al een uur of langer: {list}',
  needDead: 'Opgegeven: {list}',
  needHeld: 'Wacht op een beslissing: {list}',
  countTo: '{count} aan {sink}',
  lookup: 'opvraging {lookup}',
} as const satisfies Language<'one'>;
