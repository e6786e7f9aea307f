import { ago, command, flag, positive, readOption, storeOptions } from '../command.ts';
import { CommandError, exit } from '../output.ts';
import { checkSink, withStore } from '../with-store.ts';
import { follow } from './follow.ts';
import { auditList, noticeList, print, refusedList, rejectedList } from './lists.ts';
import { searchOptions, storyList } from './stories.ts';

const ofEvents = Object.keys(searchOptions);

const declared = {
  ...storeOptions,
  since: readOption('--since <duration>', 'only what came within this time, such as 7d', ago),
  ...searchOptions,
  follow: flag('--follow', 'then print each event that comes or changes, until Ctrl-C').conflicts([
    'rejected',
    'refused',
    'notices',
    'audit',
    'csv',
    'correlation',
  ]),
  limit: readOption(
    '--limit <n>',
    'at most so many; 100 if not given, and all with --json or --csv',
    positive,
  ),
  rejected: flag('--rejected', 'list the requests that were not valid events instead').conflicts([
    'since',
    ...ofEvents,
    'refused',
    'notices',
    'audit',
  ]),
  refused: flag('--refused', 'list the events that were refused for who sent them instead').conflicts([
    'since',
    ...ofEvents,
    'notices',
    'audit',
  ]),
  audit: flag('--audit', 'list what people did by hand instead').conflicts(['since', ...ofEvents, 'notices']),
  notices: flag('--notices', 'list what the alerts told people instead').conflicts(ofEvents),
  json: flag('--json', 'print JSON lines'),
  csv: flag('--csv', 'print CSV with a header, for a table').conflicts([
    'json',
    'rejected',
    'refused',
    'notices',
    'audit',
  ]),
};

export const events = command({
  name: 'events',
  description: 'list what came and what became of it, newest first',
  examples: [
    'events --since 7d --status Completed',
    'events --candidate 20970 --json',
    'events --state dead,held   # what needs a person, and why',
    'events --unanswered   # what was decided without an answer of a look-up; `lookup --unanswered` asks again',
    'events --since 30d --csv > events.csv   # for a table',
    'events --rejected   # requests that were not valid events, and why',
    'events --refused    # events from an address, with a token or to a path that is not allowed; `accept` takes them in',
    'events --notices    # what the alerts told people, and whether it reached them',
    'events --audit      # what people did by hand: replays and the like, by whom and why',
  ],
  options: declared,
  async run(given, io) {
    const { sink, state, rejected, refused, audit, notices } = given;
    if (sink !== undefined && state === undefined)
      throw new CommandError('--sink narrows --state, as in `events --state dead --sink hiring`', exit.usage);
    return withStore(given, io, async (store, local) => {
      if (sink !== undefined) await checkSink(sink, given, store);
      if (rejected) await print(rejectedList(store, given), given, local);
      else if (refused) await print(await refusedList(store), given, local);
      else if (audit) await print(auditList(store, given), given, local);
      else if (notices) await print(await noticeList(store, given), given, local);
      else if (given.follow) await follow(store, given, local);
      else await print(await storyList(store, given), given, local);
      return exit.ok;
    });
  },
});
