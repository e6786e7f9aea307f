/**
 * What the connector says by default, by name: what a config may say otherwise under `words`. Other languages have the
 * same names. `{…}` is a placeholder; a text with plural forms goes by `{count}`.
 */
export const en = {
  // For programs that read aloud.
  languageCode: 'en',

  // What became of a test: after who took it, alone, and behind a number of them.
  completed: 'completed the test',
  didNotTake: 'did not take the test',
  canceled: 'test canceled',
  titleCompleted: 'Completed',
  titleDidNotTake: 'Did not take the test',
  titleCanceled: 'Canceled',
  countCompleted: { one: '{count} completed', other: '{count} completed' },
  countDidNotTake: { one: '{count} did not take the test', other: '{count} did not take the test' },
  countCanceled: { one: '{count} canceled', other: '{count} canceled' },

  // An event. `status` is what became of the test, as above; a candidate is a number or an id, a person has a name.
  testNumber: 'Test {id}',
  testTitle: 'Test: {test}',
  candidateCompleted: 'Candidate {candidate} {status}',
  candidateDidNotTake: 'Candidate {candidate} {status}',
  candidateCanceled: 'Candidate {candidate}: {status}',
  shortCompleted: '{test}: candidate {candidate} {status}',
  shortDidNotTake: '{test}: candidate {candidate} {status}',
  shortCanceled: '{test}: candidate {candidate}, {status}',
  namedCompleted: '{name} {status}',
  namedDidNotTake: '{name} {status}',
  namedCanceled: '{name}: {status}',
  personCompleted: '{name} completed {test}',
  personDidNotTake: '{name} did not take {test}',
  personCanceled: '{name}: {test}, test canceled',
  withPercent: '{message}: {score}%',
  withScore: '{message}: {score}',
  ids: 'Candidate id {candidate} | Test id {test}',
  received: 'Received {time}',
  openCandidate: 'Open candidate',
  openReport: 'Open report',
  notKnown: 'not known',

  // What a reader may do.
  whatNext: 'What next:',
  nextCompleted: 'Look at the result in the testing service.',
  nextDidNotTake: 'There is no result. Decide whether to invite the candidate again.',
  nextCanceled: 'There will be no result. If that was not meant, invite the candidate again.',
  nextResults: 'Look at the results in the testing service.',
  nextNoResults:
    'Where a test was not taken or was canceled, there is no result: decide whom to invite again.',

  // A digest.
  candidates: { one: '{count} candidate', other: '{count} candidates' },
  tests: { one: '{count} test', other: '{count} tests' },
  digest: '{candidates} of {tests}: {counts}',
  more: { one: '… and {count} more', other: '… and {count} more' },
  moreInText: {
    one: '… and {count} more: the plain text of this mail has all',
    other: '… and {count} more: the plain text of this mail has all',
  },

  // Around all of it: a line of a list, and what stands in mails.
  item: '{name}: {value}',
  labelTest: 'Test',
  labelEmail: 'Email',
  labelReceived: 'Received',
  labelWhat: 'What',
  labelSince: 'Since',
  labelBegan: 'It began',
  labelFrom: 'From',
  sentBy: 'Sent by Candidate Connector.',

  // A notice in short.
  noticeTitle: 'Candidate Connector: {notice}',
  noticeTitleLate: 'Candidate Connector, told late: {notice}',
  toldLate: 'Told late: this was so on {time}.',
  badgeTrouble: 'Candidate Connector needs a person',
  badgeRecovered: 'Candidate Connector is well again',
  badgeSummary: 'Candidate Connector, every week',
  noticeDead: {
    one: '{count} delivery to {sink} given up',
    other: '{count} deliveries to {sink} given up',
  },
  noticeMissed: {
    one: '{count} delivery to {sink} went out, but not as meant',
    other: '{count} deliveries to {sink} went out, but not as meant',
  },
  noticeHeld: {
    one: '{count} delivery to {sink} held for a person to decide',
    other: '{count} deliveries to {sink} held for a person to decide',
  },
  noticePaused: 'Messages to {sink} do not go out',
  noticeLookup: 'The look-up {lookup} gets no answer',
  noticeConfig: 'The config has a problem',
  noticeRefused: { one: '{count} event refused, from {from}', other: '{count} events refused, from {from}' },
  noticeSilence: 'No event since {time}',
  noticeSummary: { one: 'The week: {count} event', other: 'The week: {count} events' },
  noticeWorks: '{sink} works again',
  noticeLookupWorks: 'The look-up {lookup} works again',
  noticeInForce: 'The changed config is in force',
  since: 'Since {time}',
  began: 'It began {time}',
  from: 'From {time}',

  // Times, as in "for 3 hours", "in 3 hours", "after 3 hours" and "3 hours ago".
  days: { one: '{count} day', other: '{count} days' },
  hours: { one: '{count} hour', other: '{count} hours' },
  minutes: { one: '{count} minute', other: '{count} minutes' },
  seconds: { one: '{count} second', other: '{count} seconds' },

  // A notice in detail, and what to do. What a tool said, and what is wrong in a config, follows as it is.
  deadDetail: {
    one: 'A delivery to {sink} had to be given up. {reason}',
    other: '{count} deliveries to {sink} had to be given up. {reason}',
  },
  deadAdvice:
    'Fix the cause, or forward this to somebody who can. Whom they are about stands on the operations page, at “Needs a person”. Then replay them: {command}',
  missedDetail: {
    one: 'A delivery to {sink} went out, but not as meant. {reason}',
    other: '{count} deliveries to {sink} went out, but not as meant. {reason}',
  },
  missedAdvice:
    'Put right what it says. Where somebody was left out, tell them yourself, or send the message to everybody again: {command} takes the ids of the deliveries. Do not send a row again: it would be there twice.',
  heldDetail: {
    one: 'A delivery to {sink} may have arrived or not, and only a person can tell. {reason}',
    other: '{count} deliveries to {sink} may have arrived or not, and only a person can tell. {reason}',
  },
  heldAdvice: 'Look there, then replay or discard those listed by: {command}',
  pausedDetail: 'No message to {sink} has gone out for {time}.',
  failingDetail: {
    one: '{count} attempt at messages to {sink} has failed in {time}, and none has worked.',
    other: '{count} attempts at messages to {sink} have failed in {time}, and none has worked.',
  },
  flappingDetail:
    'Messages to {sink} have failed again and again for {time}, and none has gone out for {last}.',
  lookupDetail: 'The look-up {lookup} has had no answer for {time}.',
  messagesWait: 'The messages wait, and none is lost.',
  eventsWait: 'Events wait for it, and are decided without it when their waitFor is over.',
  pausedAdvice:
    'Put this right, or forward this to somebody who can. {afterwards} To see whether it works, run: {check}. To try it at once, run: {retry}',
  forgottenDetail: '{sink} has been paused by {who} for {time}, and messages wait for it. None is lost.',
  lookupForgottenDetail: 'The look-up {lookup} has been paused by {who} for {time}.',
  forgottenAdvice: 'To let it go on, run: {resume}. A pause with an end goes on by itself: {pause}',
  messagesGoOn:
    'The messages then go out by themselves, but for those that were given up meanwhile: these have to be replayed.',
  eventsGoOn: 'What waits then is decided with what it finds out.',
  configDetail: 'The changed config was refused. {problem} What was loaded {time} ago stays in force.',
  moreProblems: { one: 'There is one more problem.', other: 'There are {count} more problems.' },
  configAdvice:
    'Correct the file: it is loaded by itself when it changes. Do not restart before: it would not start, or would take the file as it is. All problems are shown by: {command}',
  refusedDetail: {
    one: '{count} event from {from} was refused: {why}',
    other: '{count} events from {from} were refused: {why}',
  },
  andMore: { one: '{list} and {count} more', other: '{list} and {count} more' },
  whyStore: 'the store could not be written',
  whyConnections: 'more connections were open than there is room for',
  whyAddress: 'the config allows no events from there',
  whyToken: 'the token was missing or wrong',
  whyPath: 'the URL had another path than receiver.path, or led to admin.port',
  whyContent: 'what came was not a valid event',
  adviceStore:
    'The service sends an event once more, and never again: look there for who finished meanwhile, and in the log for the cause. With an export of it, {command} finds them.',
  adviceConnections:
    'A connection without room is closed before its request is read, so perhaps not each was an event. Let whoever sends, or a proxy in front, open fewer at a time; where there are not many, see what makes the answers slow. With an export of the service, {command} finds who is missing.',
  adviceAddress:
    'If that is the service, add its address to receiver.allowFrom ([published, …]). If it is a proxy of yours, set receiver.trustProxy, and take in only what the service knows of, by its id: anybody may be behind a proxy.',
  adviceProxy:
    'A proxy of yours seems to be at {from}, and anybody may be behind it: first set receiver.trustProxy, to 1 for one proxy, to 2 for two; each has to add to X-Forwarded-For.',
  adviceToken: "Compare receiver.token with the Webhook URL in the service's account.",
  advicePath:
    "Compare receiver.path with the path of the Webhook URL in the service's account; the log has the path that was called. The port to call is receiver.port.",
  adviceContent:
    '{list} says what was wrong with it. Perhaps the service has changed what it sends: then correct that in its account, or update the connector. Who is missing is found with an export of the service.',
  takeIn:
    'What is kept of it is listed by {list}, and taken in by {accept}; look in the service for who is not there. {ignore} throws away what was not taken in.',
  takeInById:
    'What is kept of it is listed by {list}. Compare that with the service, and take in only what it knows of, by its id: {accept}. Look there for who is not listed. {ignore} throws away what was not taken in.',
  requestsCount: 'Each request counts, also where the service sends an event again.',
  refusedOnce: 'It came {time} ago.',
  refusedOften: 'The first came {first} ago, the last {last} ago.',
  putAway: 'When that is done: {command}',
  silenceDetail: 'No event has come for {time}.',
  silenceAdvice:
    "If candidates have taken tests since, check that the Webhook URL in the testing service's account still leads here.",
  worksDetail: '{sink} works again, after {time}. The deliveries that waited go on.',
  worksAdvice: 'Nothing has to be done for them. Any that were given up meanwhile are listed by: {command}',
  lookupWorksDetail: 'The look-up {lookup} works again, after {time}. What waited for it goes on.',
  lookupUnanswered: 'Decided meanwhile without its answer: {events}.',
  lookupWorksAdvice:
    'What was decided without it meanwhile may have told nobody: {command} asks again, and {apply} then sends what the rules ask for.',
  inForceDetail: 'The changed config is in force now, after {time}.',
  nothingToDo: 'Nothing has to be done.',

  // The summary of a week, and what needs a person then.
  noEvents: 'No event came.',
  events: { one: '{count} event', other: '{count} events' },
  deliveriesTo: 'Deliveries to {sink}',
  stateDelivered: { one: '{count} delivered', other: '{count} delivered' },
  statePending: { one: '{count} waiting', other: '{count} waiting' },
  stateSending: { one: '{count} under way', other: '{count} under way' },
  stateDead: { one: '{count} given up', other: '{count} given up' },
  stateHeld: { one: '{count} held', other: '{count} held' },
  stateDiscarded: { one: '{count} discarded', other: '{count} discarded' },
  moreTests: { one: '… and {count} more test', other: '… and {count} more tests' },
  moreSinks: { one: '… and {count} more sink', other: '… and {count} more sinks' },
  nothingNeeded: 'Nothing needs a person.',
  need: '{what}. See: {command}.',
  needServed: 'No connector serves the store',
  needUnwritable: 'The store cannot be written: {why}',
  needUnsent: 'What waits cannot be sent: {why}',
  needRescued: 'The store was replaced while it was in use, and what it had is in {file}',
  needUnread: 'Events in a row that could not be read: {count}',
  needConfig: 'The changed config is refused',
  needBroken: 'The config in force breaks a policy',
  needSecrets: 'The changed secrets of {sinks} do not work',
  needRestart: 'Changed keys wait for a restart',
  needDiffer: 'The replicas run different configs',
  needClosed: 'The admin port lets nobody in, since its password is too short',
  needDown: 'Down now: {sinks}',
  needForgotten: 'Still paused by a person: {sinks}',
  needGone: 'Waiting for a sink that is not in the config any more: {list}',
  needEmpty: 'Look-ups that no longer find what they did: {list}',
  needFailing: 'Failing for an hour or longer: {list}',
  needDead: 'Given up: {list}',
  needHeld: 'Held for a person to decide: {list}',
  countTo: '{count} to {sink}',
  lookup: 'look-up {lookup}',
} as const;
