import type { Language } from './language.ts';

export const it = {
  languageCode: 'it',

  completed: 'ha completato il test',
  didNotTake: 'non ha svolto il test',
  canceled: 'test annullato',
  titleCompleted: 'Completato',
  titleDidNotTake: 'Non svolto',
  titleCanceled: 'Annullato',
  countCompleted: { one: '{count} completato', other: '{count} completati' },
  countDidNotTake: { one: '{count} non svolto', other: '{count} non svolti' },
  countCanceled: { one: '{count} annullato', other: '{count} annullati' },

  testNumber: 'Test {id}',
  testTitle: 'Test: {test}',
  candidateCompleted: 'Candidato/a {candidate} {status}',
  candidateDidNotTake: 'Candidato/a {candidate} {status}',
  candidateCanceled: 'Candidato/a {candidate}: {status}',
  shortCompleted: '{test}: candidato/a {candidate} {status}',
  shortDidNotTake: '{test}: candidato/a {candidate} {status}',
  shortCanceled: '{test}: candidato/a {candidate}, {status}',
  namedCompleted: '{name} {status}',
  namedDidNotTake: '{name} {status}',
  namedCanceled: '{name}: {status}',
  personCompleted: '{name} ha completato {test}',
  personDidNotTake: '{name} non ha svolto {test}',
  personCanceled: '{name}: {test}, test annullato',
  withPercent: '{message}: {score}%',
  withScore: '{message}: {score}',
  ids: 'ID candidato/a {candidate} | ID del test {test}',
  received: 'Ricevuto: {time}',
  openCandidate: 'Apri il profilo',
  openReport: 'Apri il report',
  notKnown: 'sconosciuto',

  whatNext: 'E ora:',
  nextCompleted: 'Consulta il risultato sulla piattaforma dei test.',
  nextDidNotTake: 'Non c’è un risultato. Decidi se inviare un altro invito.',
  nextCanceled: 'Non ci sarà un risultato. Se non era voluto, invia un altro invito.',
  nextResults: 'Consulta i risultati sulla piattaforma dei test.',
  nextNoResults:
    'Dove il test non è stato svolto o è stato annullato, non c’è un risultato: decidi chi invitare di nuovo.',

  candidates: { one: '{count} persona', other: '{count} persone' },
  tests: { one: '{count} test', other: '{count} test' },
  digest: '{candidates}, {tests}: {counts}',
  more: { one: '… e {count} altro', other: '… e altri {count}' },
  moreInText: {
    one: '… e {count} altro: il testo semplice di questa e-mail contiene tutto',
    other: '… e altri {count}: il testo semplice di questa e-mail contiene tutto',
  },

  item: '{name}: {value}',
  labelTest: 'Test',
  labelEmail: 'E-mail',
  labelReceived: 'Ricevuto',
  labelWhat: 'Che cosa',
  labelSince: 'Da',
  labelBegan: 'Inizio',
  labelFrom: 'A partire da',
  sentBy: 'Inviato da Candidate Connector.',

  noticeTitle: 'Candidate Connector: {notice}',
  noticeTitleLate: 'Candidate Connector, in ritardo: {notice}',
  toldLate: 'Inviato in ritardo. Situazione al: {time}.',
  badgeTrouble: 'Candidate Connector ha bisogno di qualcuno',
  badgeRecovered: 'Candidate Connector funziona di nuovo',
  badgeSummary: 'Candidate Connector, ogni settimana',
  noticeDead: {
    one: '{count} consegna a {sink} abbandonata',
    other: '{count} consegne a {sink} abbandonate',
  },
  noticeMissed: {
    one: '{count} consegna a {sink} è partita, ma non come previsto',
    other: '{count} consegne a {sink} sono partite, ma non come previsto',
  },
  noticeHeld: {
    one: '{count} consegna a {sink} attende una decisione',
    other: '{count} consegne a {sink} attendono una decisione',
  },
  noticePaused: 'I messaggi a {sink} non partono',
  noticeLookup: 'La consultazione {lookup} non riceve risposta',
  noticeConfig: 'La configurazione ha un errore',
  noticeRefused: {
    one: '{count} evento rifiutato, da {from}',
    other: '{count} eventi rifiutati, da {from}',
  },
  noticeSilence: 'Nessun evento da: {time}',
  noticeSummary: { one: 'La settimana: {count} evento', other: 'La settimana: {count} eventi' },
  noticeWorks: '{sink} funziona di nuovo',
  noticeLookupWorks: 'La consultazione {lookup} funziona di nuovo',
  noticeInForce: 'La configurazione modificata è in vigore',
  since: 'Da: {time}',
  began: 'Inizio: {time}',
  from: 'A partire da: {time}',

  days: { one: '{count} giorno', other: '{count} giorni' },
  hours: { one: '{count} ora', other: '{count} ore' },
  minutes: { one: '{count} minuto', other: '{count} minuti' },
  seconds: { one: '{count} secondo', other: '{count} secondi' },

  deadDetail: {
    one: 'È stato necessario abbandonare una consegna a {sink}. {reason}',
    other: 'È stato necessario abbandonare {count} consegne a {sink}. {reason}',
  },
  deadAdvice:
    'Correggi la causa, o inoltra questo messaggio a chi può farlo. Di chi si tratta è indicato nella pagina operativa, alla voce «Needs a person». Poi ripeti l’invio: {command}',
  missedDetail: {
    one: 'Una consegna a {sink} è partita, ma non come previsto. {reason}',
    other: '{count} consegne a {sink} sono partite, ma non come previsto. {reason}',
  },
  missedAdvice:
    'Correggi quanto indicato. Se qualcuno è rimasto escluso, avvisalo di persona, oppure invia di nuovo il messaggio a tutti: {command} accetta gli ID delle consegne. Non inviare di nuovo una riga: comparirebbe due volte.',
  heldDetail: {
    one: 'Una consegna a {sink} potrebbe essere arrivata o no, e solo una persona può saperlo. {reason}',
    other:
      '{count} consegne a {sink} potrebbero essere arrivate o no, e solo una persona può saperlo. {reason}',
  },
  heldAdvice: 'Controlla lì, poi ripeti o scarta quelle elencate da: {command}',
  pausedDetail: 'Nessun messaggio a {sink} è partito da {time}.',
  failingDetail: {
    one: '{count} tentativo di invio a {sink} è fallito in {time}, e nessuno è riuscito.',
    other: '{count} tentativi di invio a {sink} sono falliti in {time}, e nessuno è riuscito.',
  },
  flappingDetail: 'I messaggi a {sink} falliscono di continuo da {time}, e nessuno è partito da {last}.',
  lookupDetail: 'La consultazione {lookup} non riceve risposta da {time}.',
  messagesWait: 'I messaggi restano in attesa, e nessuno va perso.',
  eventsWait: 'Gli eventi la attendono, e vengono decisi senza di essa quando il loro waitFor è scaduto.',
  pausedAdvice:
    'Correggi il problema, o inoltra questo messaggio a chi può farlo. {afterwards} Per vedere se funziona: {check}. Per riprovare subito: {retry}',
  forgottenDetail:
    '{sink} è in pausa da {time} (da parte di {who}), e ci sono messaggi in attesa. Nessuno va perso.',
  lookupForgottenDetail: 'La consultazione {lookup} è in pausa da {time} (da parte di {who}).',
  forgottenAdvice: 'Per riprendere: {resume}. Una pausa con una fine riprende da sola: {pause}',
  messagesGoOn:
    'I messaggi partiranno poi da soli, tranne quelli abbandonati nel frattempo: questi vanno inviati di nuovo.',
  eventsGoOn: 'Ciò che allora è in attesa viene deciso con quanto trova.',
  configDetail:
    'La configurazione modificata è stata rifiutata. {problem} Quella caricata {time} fa resta in vigore.',
  moreProblems: { one: 'C’è un altro errore.', other: 'Ci sono altri {count} errori.' },
  configAdvice:
    'Correggi il file: viene caricato da solo quando cambia. Non riavviare prima: l’avvio fallirebbe, oppure applicherebbe il file così com’è. Tutti gli errori si vedono con: {command}',
  refusedDetail: {
    one: '{count} evento da {from} è stato rifiutato: {why}',
    other: '{count} eventi da {from} sono stati rifiutati: {why}',
  },
  andMore: { one: '{list} e {count} altro', other: '{list} e altri {count}' },
  whyStore: 'non era possibile scrivere nell’archivio',
  whyConnections: 'erano aperte più connessioni di quante ne possano stare',
  whyAddress: 'la configurazione non ammette eventi da lì',
  whyToken: 'il token mancava o era sbagliato',
  whyPath: 'l’URL aveva un percorso diverso da receiver.path o portava ad admin.port',
  whyContent: 'ciò che è arrivato non era un evento valido',
  adviceStore:
    'Il servizio invia un evento ancora una volta e poi mai più: guarda lì chi ha finito nel frattempo, e cerca la causa nel log. Con una sua esportazione, {command} li trova.',
  adviceConnections:
    'Una connessione senza posto viene chiusa prima che la sua richiesta sia letta, quindi forse non tutte erano eventi. Fai in modo che chi invia, o un proxy davanti, ne apra meno alla volta; se non sono molte, guarda che cosa rallenta le risposte. Con un’esportazione del servizio, {command} trova chi manca.',
  adviceAddress:
    'Se è il servizio, aggiungi il suo indirizzo a receiver.allowFrom ([published, …]). Se è un tuo proxy, imposta receiver.trustProxy e accogli solo ciò che il servizio conosce, tramite il suo id: dietro un proxy può esserci chiunque.',
  adviceProxy:
    '{from} sembra un tuo proxy, dietro il quale può esserci chiunque: imposta prima receiver.trustProxy, su 1 per un solo proxy, su 2 per due; ognuno deve completare X-Forwarded-For.',
  adviceToken: 'Confronta receiver.token con la «Webhook URL» dell’account del servizio.',
  advicePath:
    'Confronta receiver.path con il percorso della «Webhook URL» dell’account del servizio; il percorso chiamato è nel log. La porta da chiamare è receiver.port.',
  adviceContent:
    '{list} dice che cosa non andava. Forse il servizio ha cambiato ciò che invia: correggilo allora nel suo account, oppure aggiorna il connettore. Chi manca si trova con un’esportazione del servizio.',
  takeIn:
    'Ciò che ne è conservato è elencato da {list} e viene accolto con {accept}; guarda nel servizio chi manca. {ignore} elimina ciò che non è stato accolto.',
  takeInById:
    'Ciò che ne è conservato è elencato da {list}. Confrontalo con il servizio e accogli solo ciò che questo conosce, tramite il suo id: {accept}. Guarda lì chi manca nell’elenco. {ignore} elimina ciò che non è stato accolto.',
  requestsCount: 'Ogni richiesta conta, anche quando il servizio invia di nuovo un evento.',
  refusedOnce: 'È arrivato {time} fa.',
  refusedOften: 'Il primo è arrivato {first} fa, l’ultimo {last} fa.',
  putAway: 'Quando è fatto: {command}',
  silenceDetail: 'Nessun evento è arrivato da {time}.',
  silenceAdvice:
    'Se da allora sono stati svolti dei test, controlla che la «Webhook URL» dell’account del servizio di test porti ancora qui.',
  worksDetail: '{sink} funziona di nuovo, dopo {time}. Le consegne in attesa riprendono.',
  worksAdvice:
    'Per queste non c’è nulla da fare. Quelle abbandonate nel frattempo sono elencate da: {command}',
  lookupWorksDetail:
    'La consultazione {lookup} funziona di nuovo, dopo {time}. Ciò che la attendeva riprende.',
  lookupUnanswered: 'Deciso nel frattempo senza la sua risposta: {events}.',
  lookupWorksAdvice:
    'Ciò che è stato deciso nel frattempo senza di essa forse non è stato detto a nessuno: {command} chiede di nuovo, e {apply} invia poi ciò che le regole chiedono.',
  inForceDetail: 'La configurazione modificata è ora in vigore, dopo {time}.',
  nothingToDo: 'Non c’è nulla da fare.',

  noEvents: 'Non è arrivato nessun evento.',
  events: { one: '{count} evento', other: '{count} eventi' },
  deliveriesTo: 'Consegne a {sink}',
  stateDelivered: { one: '{count} consegnata', other: '{count} consegnate' },
  statePending: '{count} in attesa',
  stateSending: '{count} in corso',
  stateDead: { one: '{count} abbandonata', other: '{count} abbandonate' },
  stateHeld: { one: '{count} trattenuta', other: '{count} trattenute' },
  stateDiscarded: { one: '{count} scartata', other: '{count} scartate' },
  moreTests: { one: '… e {count} altro test', other: '… e altri {count} test' },
  moreSinks: { one: '… e {count} altra destinazione', other: '… e altre {count} destinazioni' },
  nothingNeeded: 'Nessuno deve fare nulla.',
  need: '{what}. Vedi: {command}.',
  needServed: 'Nessun connettore serve l’archivio',
  needUnwritable: 'Non è possibile scrivere nell’archivio: {why}',
  needUnsent: 'Non è possibile inviare ciò che è in attesa: {why}',
  needRescued: 'L’archivio è stato sostituito mentre era in uso; ciò che conteneva è in {file}',
  needUnread: 'Eventi di seguito che non è stato possibile leggere: {count}',
  needConfig: 'La configurazione modificata è rifiutata',
  needBroken: 'La configurazione in vigore viola una policy',
  needSecrets: 'Le credenziali modificate di {sinks} non funzionano',
  needRestart: 'Alcune chiavi modificate attendono un riavvio',
  needDiffer: 'I connettori che condividono l’archivio hanno configurazioni diverse',
  needClosed: 'La porta di amministrazione non fa entrare nessuno, perché la sua password è troppo corta',
  needDown: 'Ora non funzionano: {sinks}',
  needForgotten: 'Ancora in pausa manuale: {sinks}',
  needGone: 'In attesa di una destinazione che non è più nella configurazione: {list}',
  needEmpty: 'Consultazioni che non trovano più ciò che trovavano: {list}',
  needFailing: 'In errore da un’ora o più: {list}',
  needDead: 'Abbandonate: {list}',
  needHeld: 'In attesa di una decisione: {list}',
  countTo: '{count} a {sink}',
  lookup: 'consultazione {lookup}',
} as const satisfies Language<'one'>;
