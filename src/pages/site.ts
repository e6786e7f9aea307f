import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import { fieldsOf, formRefused, idsOf, personOf, refusedLogin } from '../admin/access.ts';
import type { Site } from '../admin/requests.ts';
import { answerProblem } from '../http/problem.ts';
import { readStatus, type Status } from '../ops/status/status.ts';
import { causesOf } from '../ops/needs.ts';
import { StoreUnavailable } from '../store/store.ts';
import { apiRouter } from './api/endpoints.ts';
import { sendAsset } from './frame/assets.ts';
import { attentionPage } from './attention.ts';
import { changeForm } from './changes/question.ts';
import { changePage } from './changes/run.ts';
import { retryForm } from './changes/sinks.ts';
import { download } from './events/download.ts';
import { eventPage, messagePage } from './events/event.ts';
import { eventsPage } from './events/events.ts';
import { findPage } from './events/find.ts';
import { html, type Html, safeUrl } from '../support/html.ts';
import { lookupForm } from './events/lookups.ts';
import { lonePage, product, wholePage } from './frame/layout.ts';
import { loginPage } from './login.ts';
import { byOf, type PageRequest, type Form, type Page, type Parts, type PageContent } from './page.ts';
import { refusedForm, seenForm } from './refused/events.ts';
import { rejectedPage } from './refused/requests.ts';
import { checkForm, rulesPage, trialForm } from './rules/rules.ts';
import { sinkForms, sinkPage } from './sink.ts';
import { Times } from './frame/times.ts';
import { todayPage } from './today.ts';

/** Every page and form. A new one is added here, and nowhere else. */
const all: readonly (Page | Form)[] = [
  todayPage,
  eventsPage,
  findPage,
  eventPage,
  messagePage,
  lookupForm,
  attentionPage,
  changePage,
  changeForm,
  retryForm,
  seenForm,
  sinkPage,
  ...sinkForms,
  refusedForm,
  rejectedPage,
  rulesPage,
  trialForm,
  checkForm,
];
const pages = all.filter((one) => 'show' in one);
const forms = all.filter((one) => 'carryOut' in one);

/** The operations page and its API. */
export function createSite(parts: Parts): Site {
  const open = Router();
  open.get('/assets/:file', secure, sendAsset);
  open.all('/login', secure, (req, res) => {
    const refused = refusedLogin(req);
    const next = refused ? fieldsOf(req)['next'] : queryOf(req)['next'];
    const status = refused ? { wrong: 401, busy: 429 }[refused] : 200;
    const said = refused ?? (queryOf(req)['undone'] === undefined ? undefined : 'undone');
    sendPage(res, status, lonePage(loginPage(next ?? '/', said)));
  });
  return { open, inside: insideRouter(parts), refused: refusedRouter(parts) };
}

function insideRouter(parts: Parts): Router {
  const router = Router();
  router.use(secure);
  router.use('/api', apiRouter(parts));
  router.get('/events.csv', (req, res, next) => download(parts, askedBy(req, parts))(req, res, next));
  for (const page of pages)
    router.get(
      page.path,
      showing(parts, (asked) => page.show(asked, parts)),
    );
  for (const form of forms) {
    const handler = showing(parts, (asked, req) =>
      form.carryOut({ ...asked, form: fieldsOf(req), ids: idsOf(req), by: byOf(req, 'the page') }, parts),
    );
    router.post(form.path, handler);
    // Such as where a question was asked there: a login, or a refused form on it, leads back to its address.
    router.get(form.path, ({ path }, res) => res.redirect(303, path.slice(0, path.lastIndexOf('/'))));
  }
  router.use(notFound(parts));
  router.use(failed(parts));
  return router;
}

function refusedRouter(parts: Parts): Router {
  const router = Router();
  router.use(secure, (req, res) => {
    const { status, detail, page } = formRefused(req);
    const body = html`<p>${detail}</p>
      <p><a href="${safeUrl(page)}">Back to its page</a></p>`;
    return send(res, { status, title: 'Nothing was done', body }, askedBy(req, parts));
  });
  return router;
}

type Show = (asked: PageRequest, req: Request) => Promise<string | PageContent | null>;

const showing =
  (parts: Parts, show: Show): RequestHandler =>
  async (req, res) => {
    const asked = askedBy(req, parts);
    const shown = await show(asked, req);
    if (typeof shown === 'string') return res.redirect(303, shown);
    await send(res, shown ?? missing, asked);
  };

async function send(res: Response, shown: PageContent, asked: PageRequest): Promise<void> {
  // The policy lets such a document run no script, load nothing and send nothing.
  if (shown.foreign !== undefined)
    return void res
      .set('content-security-policy', foreignPolicy)
      .set('cache-control', 'no-store')
      .type('html')
      .send(shown.foreign);
  if (shown.isPart) return sendPage(res, shown.status ?? 200, shown.body);
  const causes = await asked.status().then(causesOf, () => 0);
  sendPage(res, shown.status ?? 200, wholePage(shown, asked, causes, pages));
}

function sendPage(res: Response, status: number, page: Html): void {
  res.status(status).set('cache-control', 'no-store').type('html').send(page.text);
}

function askedBy(req: Request, parts: Parts): PageRequest {
  const now = parts.clock.now();
  const { plan } = parts.config();
  const times = new Times(now, plan.timeZone, plan.wording.locale);
  let status: Promise<Status> | undefined;
  return {
    path: req.path,
    params: req.params as PageRequest['params'],
    query: queryOf(req),
    person: personOf(req),
    site: parts.config().admin.title ?? product,
    now,
    times,
    status: () => (status ??= readStatus(parts, now, times.timeZone)),
  };
}

function queryOf(req: Request): PageRequest['query'] {
  const given = Object.entries(req.query).filter(([, value]) => typeof value === 'string' && value !== '');
  return Object.fromEntries(given) as PageRequest['query'];
}

const missing: PageContent = {
  status: 404,
  title: 'There is nothing here',
  body: html`<p>This address leads to nothing. An event may have been deleted when its time was over.</p>
    <p><a href="/">Today</a> · <a href="/events">All events</a></p>`,
};

const unreadable: PageContent = {
  status: 503,
  title: 'The store cannot be used just now',
  body: html`<p>
      The log says why. <a href="/readyz">Readiness</a> says whether events can be stored: where not, they are
      refused meanwhile, and the service sends each twice at most.
    </p>
    <p><a href="">Try again</a></p>`,
};

/** Whether errors are answered with a page. Programs get a problem in JSON. */
const wantsPage = (req: Request): boolean =>
  req.accepts(['json', 'html']) === 'html' && !req.path.startsWith('/api/');

const notFound =
  (parts: Parts): RequestHandler =>
  async (req, res, next) => {
    if (wantsPage(req)) await send(res, missing, askedBy(req, parts));
    else next();
  };

const failed =
  (parts: Parts): ErrorRequestHandler =>
  async (error, req, res, next) => {
    if (!(error instanceof StoreUnavailable)) return next(error);
    if (!wantsPage(req)) return answerProblem(res, { status: 503, detail: `${unreadable.title}.` });
    await send(res, unreadable, askedBy(req, parts));
  };

const foreignPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

// Not no-referrer: browsers would then not say where a form comes from.
const secure: RequestHandler = (_req, res, next) => {
  res.set({
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
  });
  next();
};
