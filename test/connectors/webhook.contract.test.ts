import { webhook } from '../../connectors/webhook/index.ts';
import { connectorContract } from '../contract/connector.ts';
import { HttpSandbox } from '../../sandbox/http.ts';

const secret = `whsec_${Buffer.from('a signing secret of 32 bytes ...').toString('base64')}`;
const apiKey = 'key-0123456789';
const password = 'p/ss@word';

connectorContract('webhook', async () => {
  const sandbox = await new HttpSandbox().start();
  return {
    connector: webhook,
    sandbox,
    options: (authority) => ({
      url:
        authority === undefined
          ? `http://ats:${encodeURIComponent(password)}@${sandbox.authority}/hooks?v=1`
          : `https://${authority}/hooks`,
      secret,
      headers: { 'X-Api-Key': apiKey },
      allowPrivate: true,
    }),
    secrets: [secret, apiKey, password, encodeURIComponent(password)],
    fields: {
      path: '/candidates',
      headers: { 'X-Team': 'backend' },
      body: { candidate: { id: 'abc' }, numbers: [1, 2] },
    },
    place: ['body', 'candidate', 'id'],
    calls: ['POST'],
    meanings: {
      400: { outcome: 'retry', reason: 'invalid' },
      401: { outcome: 'retry', reason: 'auth', sinkWide: true },
      403: { outcome: 'retry', reason: 'auth', sinkWide: true },
      402: { outcome: 'retry', sinkWide: 'perhaps' },
      404: { outcome: 'retry', reason: 'not_found', sinkWide: 'perhaps' },
      405: { outcome: 'retry', sinkWide: 'perhaps' },
      408: { outcome: 'retry', reason: 'timeout' },
      409: { outcome: 'retry', sinkWide: 'perhaps' },
      410: { outcome: 'rejected', reason: 'not_found' },
      413: { outcome: 'retry', reason: 'invalid' },
      422: { outcome: 'retry', reason: 'invalid' },
      425: { outcome: 'retry', reason: 'server' },
      429: { outcome: 'retry', reason: 'rate_limited', sinkWide: true },
      500: { outcome: 'retry', reason: 'server' },
      502: { outcome: 'unknown', reason: 'server' },
      503: { outcome: 'retry', reason: 'server', sinkWide: true },
      504: { outcome: 'unknown', reason: 'timeout' },
    },
    trace: /^the call with the webhook-id [\w-]+$/,
    statesDelay: true,
    finds: false,
    proxied: true,
    received: async () => sandbox.calls.map((call) => call.deliveryId),
    shown: async (id) => {
      const call = sandbox.calls.find((each) => each.deliveryId === id);
      return (JSON.parse(call?.body ?? '{}') as { candidate?: { id: string } }).candidate?.id;
    },
  };
});
