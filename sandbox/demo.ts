import { scriptOptions } from './script-options.ts';

/**
 * `npm run demo`: the rules of config.example.yaml at work, with a sandbox of the four tools and of the testing service, which
 * is asked for names and scores, and no credentials.
 */

const usage = `Usage: npm run demo -- [options]

  --burst N     then post N events at once, and 20 of candidates who did not take their tests
  --outage S    with --burst: Slack is down for S seconds meanwhile
  --once        end when everything has arrived, and do not stay up until Ctrl-C
  -h, --help    show this`;

const { values, refuse, whole } = scriptOptions(usage, {
  options: {
    once: { type: 'boolean', default: false },
    burst: { type: 'string', default: '0' },
    outage: { type: 'string', default: '0' },
  },
});
const burst = whole('burst', values.burst, 0);
const outage = whole('outage', values.outage, 0);
if (outage > 0 && burst === 0) refuse('--outage goes with --burst.');
// Loaded here, so that who mistypes an option need not wait.
const { demo } = await import('./show-demo.ts');
await demo({ once: values.once, burst, outage });
