import type { Language } from './language.ts';

export const fr = {
  languageCode: 'fr',

  completed: 'a terminé le test',
  didNotTake: 'n’a pas passé le test',
  canceled: 'test annulé',
  titleCompleted: 'Terminé',
  titleDidNotTake: 'Test non passé',
  titleCanceled: 'Annulé',
  countCompleted: { one: '{count} terminé', other: '{count} terminés' },
  countDidNotTake: { one: '{count} non passé', other: '{count} non passés' },
  countCanceled: { one: '{count} annulé', other: '{count} annulés' },

  testNumber: 'Test {id}',
  testTitle: 'Test : {test}',
  candidateCompleted: 'Candidat(e) {candidate} {status}',
  candidateDidNotTake: 'Candidat(e) {candidate} {status}',
  candidateCanceled: 'Candidat(e) {candidate} : {status}',
  shortCompleted: '{test} : candidat(e) {candidate} {status}',
  shortDidNotTake: '{test} : candidat(e) {candidate} {status}',
  shortCanceled: '{test} : candidat(e) {candidate}, {status}',
  namedCompleted: '{name} {status}',
  namedDidNotTake: '{name} {status}',
  namedCanceled: '{name} : {status}',
  personCompleted: '{name} a terminé {test}',
  personDidNotTake: '{name} n’a pas passé {test}',
  personCanceled: '{name} : {test}, test annulé',
  withPercent: '{message} : {score}\u00a0%',
  withScore: '{message} : {score}',
  ids: 'Identifiant candidat {candidate} | Identifiant du test {test}',
  received: 'Reçu : {time}',
  openCandidate: 'Ouvrir le profil',
  openReport: 'Ouvrir le rapport',
  notKnown: 'inconnu',

  whatNext: 'Et ensuite :',
  nextCompleted: 'Consultez le résultat sur la plateforme de test.',
  nextDidNotTake: 'Il n’y a pas de résultat. À vous de décider d’une nouvelle invitation.',
  nextCanceled: 'Il n’y aura pas de résultat. Si ce n’était pas voulu, renvoyez une invitation.',
  nextResults: 'Consultez les résultats sur la plateforme de test.',
  nextNoResults:
    'Là où le test n’a pas été passé ou a été annulé, il n’y a pas de résultat : décidez qui inviter à nouveau.',

  candidates: { one: '{count} personne', other: '{count} personnes' },
  tests: { one: '{count} test', other: '{count} tests' },
  digest: '{candidates}, {tests} : {counts}',
  more: { one: '… et {count} autre', other: '… et {count} autres' },
  moreInText: {
    one: '… et {count} autre : le texte brut de ce message contient tout',
    other: '… et {count} autres : le texte brut de ce message contient tout',
  },

  item: '{name} : {value}',
  labelTest: 'Test',
  labelEmail: 'E-mail',
  labelReceived: 'Reçu',
  labelWhat: 'Quoi',
  labelSince: 'Depuis',
  labelBegan: 'Début',
  labelFrom: 'À partir de',
  sentBy: 'Envoyé par Candidate Connector.',

  noticeTitle: 'Candidate Connector : {notice}',
  noticeTitleLate: 'Candidate Connector, message tardif : {notice}',
  toldLate: 'Envoyé en retard. Heure du constat : {time}.',
  badgeTrouble: 'Candidate Connector a besoin de quelqu’un',
  badgeRecovered: 'Candidate Connector fonctionne à nouveau',
  badgeSummary: 'Candidate Connector, chaque semaine',
  noticeDead: {
    one: '{count} envoi vers {sink} abandonné',
    other: '{count} envois vers {sink} abandonnés',
  },
  noticeMissed: {
    one: '{count} envoi vers {sink} parti, mais pas comme prévu',
    other: '{count} envois vers {sink} partis, mais pas comme prévu',
  },
  noticeHeld: {
    one: '{count} envoi vers {sink} attend une décision',
    other: '{count} envois vers {sink} attendent une décision',
  },
  noticePaused: 'Les messages vers {sink} ne partent pas',
  noticeLookup: 'La requête {lookup} reste sans réponse',
  noticeConfig: 'La configuration comporte une erreur',
  noticeRefused: {
    one: '{count} événement refusé, de {from}',
    other: '{count} événements refusés, de {from}',
  },
  noticeSilence: 'Aucun événement depuis : {time}',
  noticeSummary: { one: 'La semaine : {count} événement', other: 'La semaine : {count} événements' },
  noticeWorks: '{sink} fonctionne à nouveau',
  noticeLookupWorks: 'La requête {lookup} fonctionne à nouveau',
  noticeInForce: 'La configuration modifiée est en vigueur',
  since: 'Depuis : {time}',
  began: 'Début : {time}',
  from: 'À partir de : {time}',

  days: { one: '{count} jour', other: '{count} jours' },
  hours: { one: '{count} heure', other: '{count} heures' },
  minutes: { one: '{count} minute', other: '{count} minutes' },
  seconds: { one: '{count} seconde', other: '{count} secondes' },

  deadDetail: {
    one: 'Un envoi vers {sink} a dû être abandonné. {reason}',
    other: '{count} envois vers {sink} ont dû être abandonnés. {reason}',
  },
  deadAdvice:
    'Corrigez la cause, ou transmettez ce message à quelqu’un qui le peut. La page d’exploitation montre de qui il s’agit, sous « Needs a person ». Ensuite, relancez-les : {command}',
  missedDetail: {
    one: 'Un envoi vers {sink} est parti, mais pas comme prévu. {reason}',
    other: '{count} envois vers {sink} sont partis, mais pas comme prévu. {reason}',
  },
  missedAdvice:
    'Corrigez ce qui est indiqué. Si quelqu’un a été oublié, prévenez cette personne vous-même, ou renvoyez le message à tous : {command} prend les identifiants des envois. Ne renvoyez pas une ligne : elle y serait deux fois.',
  heldDetail: {
    one: 'Un envoi vers {sink} est peut-être arrivé, peut-être pas, et seule une personne peut le dire. {reason}',
    other:
      '{count} envois vers {sink} sont peut-être arrivés, peut-être pas, et seule une personne peut le dire. {reason}',
  },
  heldAdvice: 'Vérifiez sur place, puis relancez ou écartez ceux que liste : {command}',
  pausedDetail: 'Aucun message vers {sink} n’est parti depuis {time}.',
  failingDetail: {
    one: '{count} tentative d’envoi vers {sink} a échoué en {time}, et aucune n’a réussi.',
    other: '{count} tentatives d’envoi vers {sink} ont échoué en {time}, et aucune n’a réussi.',
  },
  flappingDetail:
    'Les messages vers {sink} échouent sans cesse depuis {time}, et aucun n’est parti depuis {last}.',
  lookupDetail: 'La requête {lookup} est sans réponse depuis {time}.',
  messagesWait: 'Les messages attendent, et aucun n’est perdu.',
  eventsWait: 'Les événements l’attendent, et sont traités sans elle une fois leur waitFor écoulé.',
  pausedAdvice:
    'Corrigez cela, ou transmettez ce message à quelqu’un qui le peut. {afterwards} Pour voir si cela fonctionne : {check}. Pour réessayer tout de suite : {retry}',
  forgottenDetail:
    '{sink} est en pause depuis {time} (par {who}), et des messages attendent. Aucun n’est perdu.',
  lookupForgottenDetail: 'La requête {lookup} est en pause depuis {time} (par {who}).',
  forgottenAdvice: 'Pour reprendre : {resume}. Une pause avec une fin reprend d’elle-même : {pause}',
  messagesGoOn:
    'Les messages partiront alors d’eux-mêmes, sauf ceux qui ont été abandonnés entre-temps : ceux-là sont à relancer.',
  eventsGoOn: 'Ce qui attend alors est traité avec ce qu’elle aura trouvé.',
  configDetail:
    'La configuration modifiée a été refusée. {problem} Celle qui a été chargée il y a {time} reste en vigueur.',
  moreProblems: { one: 'Il y a une autre erreur.', other: 'Il y a {count} autres erreurs.' },
  configAdvice:
    'Corrigez le fichier : il est rechargé dès qu’il change. Ne redémarrez pas avant : le démarrage échouerait, ou appliquerait le fichier tel quel. Toutes les erreurs s’affichent avec : {command}',
  refusedDetail: {
    one: '{count} événement de {from} a été refusé : {why}',
    other: '{count} événements de {from} ont été refusés : {why}',
  },
  andMore: { one: '{list} et {count} autre', other: '{list} et {count} autres' },
  whyStore: 'le stockage n’acceptait pas l’écriture',
  whyConnections: 'plus de connexions étaient ouvertes qu’il n’y a de place',
  whyAddress: 'la configuration n’admet pas d’événements venant de là',
  whyToken: 'le jeton manquait ou était faux',
  whyPath: 'l’URL avait un autre chemin que receiver.path ou menait à admin.port',
  whyContent: 'ce qui est arrivé n’était pas un événement valide',
  adviceStore:
    'Le service renvoie un événement une seule fois, puis plus jamais : regardez-y qui a fini entre-temps, et cherchez la cause dans le journal. Avec un export de celui-ci, {command} les trouve.',
  adviceConnections:
    'Une connexion sans place est fermée avant que sa requête soit lue ; toutes n’étaient peut-être pas des événements. Faites que l’expéditeur, ou un proxy devant, en ouvre moins à la fois ; s’il y en a peu, cherchez ce qui ralentit les réponses. Avec un export du service, {command} trouve qui manque.',
  adviceAddress:
    'Si c’est le service, ajoutez son adresse à receiver.allowFrom ([published, …]). Si c’est l’un de vos proxys, réglez receiver.trustProxy et ne reprenez que ce que le service connaît, par son id : n’importe qui peut se trouver derrière un proxy.',
  adviceProxy:
    '{from} semble être l’un de vos proxys, derrière lequel n’importe qui peut se trouver : réglez d’abord receiver.trustProxy, sur 1 pour un seul proxy, sur 2 pour deux ; chacun doit compléter X-Forwarded-For.',
  adviceToken: 'Comparez receiver.token avec la « Webhook URL » du compte du service.',
  advicePath:
    'Comparez receiver.path avec le chemin de la « Webhook URL » du compte du service ; le journal indique le chemin appelé. Le port à appeler est receiver.port.',
  adviceContent:
    '{list} dit ce qui n’allait pas. Le service a peut-être changé ce qu’il envoie : corrigez-le alors dans son compte, ou mettez le connecteur à jour. Qui manque se trouve avec un export du service.',
  takeIn:
    'Ce qui en est conservé est listé par {list} et repris par {accept} ; cherchez dans le service qui n’y figure pas. {ignore} efface ce qui n’a pas été repris.',
  takeInById:
    'Ce qui en est conservé est listé par {list}. Comparez avec le service et ne reprenez que ce qu’il connaît, par son id : {accept}. Cherchez-y aussi qui ne figure pas dans la liste. {ignore} efface ce qui n’a pas été repris.',
  requestsCount: 'Chaque requête compte, aussi quand le service renvoie un événement.',
  refusedOnce: 'Il est arrivé il y a {time}.',
  refusedOften: 'Le premier est arrivé il y a {first}, le dernier il y a {last}.',
  putAway: 'Quand c’est fait : {command}',
  silenceDetail: 'Aucun événement n’est arrivé depuis {time}.',
  silenceAdvice:
    'Si des tests ont été passés depuis, vérifiez que la « Webhook URL » du compte du service de test mène encore ici.',
  worksDetail: '{sink} fonctionne à nouveau, après {time}. Les envois en attente reprennent.',
  worksAdvice:
    'Il n’y a rien à faire pour eux. Ceux qui ont été abandonnés entre-temps sont listés par : {command}',
  lookupWorksDetail: 'La requête {lookup} fonctionne à nouveau, après {time}. Ce qui l’attendait reprend.',
  lookupUnanswered: 'Décidé entre-temps sans sa réponse : {events}.',
  lookupWorksAdvice:
    'Ce qui a été traité sans elle entre-temps n’a peut-être été annoncé à personne : {command} interroge à nouveau, puis {apply} envoie ce que les règles demandent.',
  inForceDetail: 'La configuration modifiée est maintenant en vigueur, après {time}.',
  nothingToDo: 'Il n’y a rien à faire.',

  noEvents: 'Aucun événement n’est arrivé.',
  events: { one: '{count} événement', other: '{count} événements' },
  deliveriesTo: 'Envois vers {sink}',
  stateDelivered: { one: '{count} remis', other: '{count} remis' },
  statePending: '{count} en attente',
  stateSending: '{count} en cours',
  stateDead: { one: '{count} abandonné', other: '{count} abandonnés' },
  stateHeld: { one: '{count} retenu', other: '{count} retenus' },
  stateDiscarded: { one: '{count} écarté', other: '{count} écartés' },
  moreTests: { one: '… et {count} autre test', other: '… et {count} autres tests' },
  moreSinks: { one: '… et {count} autre destination', other: '… et {count} autres destinations' },
  nothingNeeded: 'Personne n’a rien à faire.',
  need: '{what}. Voir : {command}.',
  needServed: 'Aucun connecteur ne sert le stockage',
  needUnwritable: 'Le stockage n’accepte pas l’écriture : {why}',
  needUnsent: 'Ce qui attend ne peut pas être envoyé : {why}',
  needRescued: 'Le stockage a été remplacé en cours d’utilisation ; ce qu’il contenait est dans {file}',
  needUnread: 'Événements de suite qui n’ont pas pu être lus : {count}',
  needConfig: 'La configuration modifiée est refusée',
  needBroken: 'La configuration en vigueur enfreint une règle de policies',
  needSecrets: 'Les nouveaux identifiants de {sinks} ne fonctionnent pas',
  needRestart: 'Des clés modifiées attendent un redémarrage',
  needDiffer: 'Les connecteurs qui partagent le stockage ont des configurations différentes',
  needClosed: 'Le port d’administration ne laisse entrer personne, car son mot de passe est trop court',
  needDown: 'En panne : {sinks}',
  needForgotten: 'Toujours mis en pause à la main : {sinks}',
  needGone: 'En attente d’une destination qui n’est plus dans la configuration : {list}',
  needEmpty: 'Requêtes qui ne trouvent plus ce qu’elles trouvaient : {list}',
  needFailing: 'En échec depuis une heure ou plus : {list}',
  needDead: 'Abandonnés : {list}',
  needHeld: 'En attente d’une décision : {list}',
  countTo: '{count} vers {sink}',
  lookup: 'requête {lookup}',
} as const satisfies Language<'one'>;
