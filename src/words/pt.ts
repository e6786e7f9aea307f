import type { Language } from './language.ts';

/** Of Brazil, as `pt` alone means for dates and numbers, too. */
export const pt = {
  languageCode: 'pt',

  completed: 'concluiu o teste',
  didNotTake: 'não fez o teste',
  canceled: 'teste cancelado',
  titleCompleted: 'Concluído',
  titleDidNotTake: 'Não realizado',
  titleCanceled: 'Cancelado',
  countCompleted: { one: '{count} concluído', other: '{count} concluídos' },
  countDidNotTake: { one: '{count} não realizado', other: '{count} não realizados' },
  countCanceled: { one: '{count} cancelado', other: '{count} cancelados' },

  testNumber: 'Teste {id}',
  testTitle: 'Teste: {test}',
  candidateCompleted: 'Candidato(a) {candidate} {status}',
  candidateDidNotTake: 'Candidato(a) {candidate} {status}',
  candidateCanceled: 'Candidato(a) {candidate}: {status}',
  shortCompleted: '{test}: candidato(a) {candidate} {status}',
  shortDidNotTake: '{test}: candidato(a) {candidate} {status}',
  shortCanceled: '{test}: candidato(a) {candidate}, {status}',
  personCompleted: '{name} concluiu {test}',
  personDidNotTake: '{name} não fez {test}',
  personCanceled: '{name}: {test}, teste cancelado',
  withPercent: '{message}: {score}%',
  withScore: '{message}: {score}',
  ids: 'ID do(a) candidato(a) {candidate} | ID do teste {test}',
  received: 'Recebido: {time}',
  openCandidate: 'Abrir perfil',
  openReport: 'Abrir relatório',
  notKnown: 'não informado',

  whatNext: 'E agora:',
  nextCompleted: 'Veja o resultado na plataforma de testes.',
  nextDidNotTake: 'Não há resultado. Decida se envia um novo convite.',
  nextCanceled: 'Não haverá resultado. Se não era essa a intenção, envie um novo convite.',
  nextResults: 'Veja os resultados na plataforma de testes.',
  nextNoResults:
    'Onde o teste não foi feito ou foi cancelado, não há resultado: decida quem convidar novamente.',

  candidates: { one: '{count} pessoa', other: '{count} pessoas' },
  tests: { one: '{count} teste', other: '{count} testes' },
  digest: '{candidates}, {tests}: {counts}',
  more: '… e mais {count}',
  moreInText: '… e mais {count}: o texto simples deste e-mail contém tudo',

  item: '{name}: {value}',
  labelTest: 'Teste',
  labelEmail: 'E-mail',
  labelReceived: 'Recebido',
  labelWhat: 'O quê',
  labelSince: 'Desde',
  labelBegan: 'Início',
  labelFrom: 'A partir de',
  sentBy: 'Enviado por Candidate Connector.',

  noticeTitle: 'Candidate Connector: {notice}',
  noticeTitleLate: 'Candidate Connector, com atraso: {notice}',
  toldLate: 'Enviado com atraso. Situação em: {time}.',
  badgeTrouble: 'Candidate Connector precisa de alguém',
  badgeRecovered: 'Candidate Connector voltou a funcionar',
  badgeSummary: 'Candidate Connector, toda semana',
  noticeDead: {
    one: '{count} entrega para {sink} abandonada',
    other: '{count} entregas para {sink} abandonadas',
  },
  noticeMissed: {
    one: '{count} entrega para {sink} saiu, mas não como devia',
    other: '{count} entregas para {sink} saíram, mas não como deviam',
  },
  noticeHeld: {
    one: '{count} entrega para {sink} espera uma decisão',
    other: '{count} entregas para {sink} esperam uma decisão',
  },
  noticePaused: 'As mensagens para {sink} não saem',
  noticeLookup: 'A consulta {lookup} está sem resposta',
  noticeConfig: 'A configuração tem um erro',
  noticeRefused: {
    one: '{count} evento recusado, de {from}',
    other: '{count} eventos recusados, de {from}',
  },
  noticeSilence: 'Nenhum evento desde: {time}',
  noticeSummary: { one: 'A semana: {count} evento', other: 'A semana: {count} eventos' },
  noticeWorks: '{sink} voltou a funcionar',
  noticeLookupWorks: 'A consulta {lookup} voltou a funcionar',
  noticeInForce: 'A configuração alterada está em vigor',
  since: 'Desde: {time}',
  began: 'Início: {time}',
  from: 'A partir de: {time}',

  days: { one: '{count} dia', other: '{count} dias' },
  hours: { one: '{count} hora', other: '{count} horas' },
  minutes: { one: '{count} minuto', other: '{count} minutos' },
  seconds: { one: '{count} segundo', other: '{count} segundos' },

  deadDetail: {
    one: 'Foi preciso abandonar {count} entrega para {sink}. {reason}',
    other: 'Foi preciso abandonar {count} entregas para {sink}. {reason}',
  },
  deadAdvice:
    'Corrija a causa, ou encaminhe esta mensagem a quem possa corrigir. De quem se trata aparece na página de operações, em “Needs a person”. Depois envie novamente: {command}',
  missedDetail: {
    one: '{count} entrega para {sink} saiu, mas não como devia. {reason}',
    other: '{count} entregas para {sink} saíram, mas não como deviam. {reason}',
  },
  missedAdvice:
    'Corrija o que está indicado. Se alguém ficou de fora, avise essa pessoa diretamente, ou envie a mensagem novamente para todas as pessoas: {command} recebe os IDs das entregas. Não envie uma linha novamente: ficaria lá duas vezes.',
  heldDetail: {
    one: '{count} entrega para {sink} pode ter chegado ou não, e só uma pessoa pode saber. {reason}',
    other: '{count} entregas para {sink} podem ter chegado ou não, e só uma pessoa pode saber. {reason}',
  },
  heldAdvice: 'Verifique lá e depois reenvie ou descarte as que aparecem com: {command}',
  pausedDetail: 'Nenhuma mensagem para {sink} sai há {time}.',
  failingDetail: {
    one: '{count} tentativa de envio para {sink} falhou em {time}, e nenhuma funcionou.',
    other: '{count} tentativas de envio para {sink} falharam em {time}, e nenhuma funcionou.',
  },
  flappingDetail: 'As mensagens para {sink} falham repetidamente há {time}, e nenhuma sai há {last}.',
  lookupDetail: 'A consulta {lookup} está sem resposta há {time}.',
  messagesWait: 'As mensagens ficam em espera, e nenhuma se perde.',
  eventsWait: 'Os eventos esperam por ela e são decididos sem ela quando o waitFor termina.',
  pausedAdvice:
    'Corrija isso, ou encaminhe esta mensagem a quem possa corrigir. {afterwards} Para ver se funciona: {check}. Para tentar imediatamente: {retry}',
  forgottenDetail: '{sink} está em pausa há {time} (por {who}), e há mensagens em espera. Nenhuma se perde.',
  lookupForgottenDetail: 'A consulta {lookup} está em pausa há {time} (por {who}).',
  forgottenAdvice: 'Para continuar: {resume}. Uma pausa com fim termina sozinha: {pause}',
  messagesGoOn:
    'As mensagens sairão então sozinhas, exceto as que foram abandonadas nesse meio-tempo: essas precisam ser reenviadas.',
  eventsGoOn: 'O que estiver esperando será decidido com o que ela encontrar.',
  configDetail:
    'A configuração alterada foi recusada. {problem} A que foi carregada há {time} continua em vigor.',
  moreProblems: { one: 'Há mais {count} erro.', other: 'Há mais {count} erros.' },
  configAdvice:
    'Corrija o arquivo: ele é carregado sozinho quando muda. Não reinicie antes: não iniciaria, ou aplicaria o arquivo como está. Todos os erros aparecem com: {command}',
  refusedDetail: {
    one: '{count} evento de {from} foi recusado: {why}',
    other: '{count} eventos de {from} foram recusados: {why}',
  },
  andMore: '{list} e mais {count}',
  whyStore: 'não era possível gravar no armazenamento',
  whyAddress: 'a configuração não permite eventos vindos de lá',
  whyToken: 'o token faltava ou estava errado',
  whyPath: 'a URL tinha outro caminho que não receiver.path',
  whyContent: 'o que chegou não era um evento válido',
  adviceStore:
    'O serviço envia um evento mais uma vez e nunca mais: veja lá quem terminou nesse meio-tempo, e procure a causa no log. Com uma exportação dele, {command} encontra-os.',
  adviceAddress:
    'Se for o serviço, adicione o endereço dele a receiver.allowFrom ([published, …]). Se for um proxy seu, configure receiver.trustProxy e aceite só o que o serviço conhece, pelo id: qualquer um pode estar atrás de um proxy.',
  adviceProxy:
    '{from} parece ser um proxy seu, e qualquer um pode estar atrás dele: primeiro configure receiver.trustProxy, com 1 para um só proxy, com 2 para dois; cada um deve completar X-Forwarded-For.',
  adviceToken: 'Compare receiver.token com a “Webhook URL” na conta do serviço.',
  advicePath:
    'Compare receiver.path com o caminho da “Webhook URL” na conta do serviço; o caminho chamado está no log.',
  adviceContent:
    '{list} diz o que estava errado. Talvez o serviço tenha mudado o que envia: corrija isso na conta dele, ou atualize o conector. Quem falta encontra-se com uma exportação do serviço.',
  takeIn:
    'O que foi guardado aparece com {list} e é aceito com {accept}; veja no serviço quem está faltando. {ignore} apaga o que não foi aceito.',
  takeInById:
    'O que foi guardado aparece com {list}. Compare com o serviço e aceite só o que ele conhece, pelo id: {accept}. Veja lá também quem não está na lista. {ignore} apaga o que não foi aceito.',
  requestsCount: 'Cada requisição conta, mesmo quando o serviço reenvia um evento.',
  refusedOnce: 'Chegou há {time}.',
  refusedOften: 'O primeiro chegou há {first}, o último há {last}.',
  putAway: 'Quando isso estiver feito: {command}',
  silenceDetail: 'Nenhum evento chega há {time}.',
  silenceAdvice:
    'Se desde então foram feitos testes, verifique se a “Webhook URL” na conta do serviço de testes ainda aponta para cá.',
  worksDetail: '{sink} voltou a funcionar, depois de {time}. As entregas em espera continuam.',
  worksAdvice:
    'Não é preciso fazer nada por elas. As que foram abandonadas nesse meio-tempo aparecem com: {command}',
  lookupWorksDetail:
    'A consulta {lookup} voltou a funcionar, depois de {time}. O que esperava por ela continua.',
  lookupUnanswered: 'Decidido nesse meio-tempo sem a resposta dela: {events}.',
  lookupWorksAdvice:
    'O que foi decidido sem ela nesse meio-tempo talvez não tenha sido avisado a ninguém: {command} consulta de novo, e {apply} envia depois o que as regras pedem.',
  inForceDetail: 'A configuração alterada está em vigor agora, depois de {time}.',
  nothingToDo: 'Não é preciso fazer nada.',

  noEvents: 'Nenhum evento chegou.',
  events: { one: '{count} evento', other: '{count} eventos' },
  deliveriesTo: 'Entregas para {sink}',
  stateDelivered: { one: '{count} entregue', other: '{count} entregues' },
  statePending: '{count} em espera',
  stateSending: '{count} em andamento',
  stateDead: { one: '{count} abandonada', other: '{count} abandonadas' },
  stateHeld: { one: '{count} retida', other: '{count} retidas' },
  stateDiscarded: { one: '{count} descartada', other: '{count} descartadas' },
  moreTests: { one: '… e mais {count} teste', other: '… e mais {count} testes' },
  moreSinks: { one: '… e mais {count} destino', other: '… e mais {count} destinos' },
  nothingNeeded: 'Ninguém precisa fazer nada.',
  need: '{what}. Veja: {command}.',
  needServed: 'Nenhum conector atende o armazenamento',
  needUnwritable: 'Não é possível gravar no armazenamento: {why}',
  needUnsent: 'Não é possível enviar o que está em espera: {why}',
  needConfig: 'A configuração alterada está recusada',
  needBroken: 'A configuração em vigor viola uma política',
  needSecrets: 'As credenciais alteradas de {sinks} não funcionam',
  needRestart: 'Chaves alteradas esperam uma reinicialização',
  needClosed: 'A porta de administração não deixa ninguém entrar, porque a senha dela é curta demais',
  needDown: 'Fora do ar agora: {sinks}',
  needForgotten: 'Ainda em pausa manual: {sinks}',
  needFailing: 'Falhando há uma hora ou mais: {list}',
  needDead: 'Abandonadas: {list}',
  needHeld: 'À espera de uma decisão: {list}',
  countTo: '{count} para {sink}',
  lookup: 'consulta {lookup}',
} as const satisfies Language<'one'>;
