import type { RequestHandler } from 'express';
import { sameText } from '../constant-time.ts';
import { answerProblem } from '../problem.ts';
import type { Secret } from '../secret.ts';

/** HTTP Basic with any user name; open where there is no password. */
export function requirePassword(password: () => Secret | null): RequestHandler {
  return (req, res, next) => {
    const expected = password();
    if (expected === null || sameText(givenPassword(req.headers.authorization), expected.reveal()))
      return next();
    const headers = { 'www-authenticate': 'Basic realm="candidate-connector", charset="UTF-8"' };
    answerProblem(res, { status: 401, detail: 'The password is missing or wrong.', headers });
  };
}

function givenPassword(authorization = ''): string {
  const encoded = /^basic +(\S+)$/i.exec(authorization)?.[1] ?? '';
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}
