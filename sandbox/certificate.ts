import { generateKeyPairSync, sign } from 'node:crypto';

/**
 * A self-signed certificate for localhost and 127.0.0.1, as PEM. Written by hand, as Node has no maker of
 * certificates and a key that is kept in a repository looks like a leaked one.
 */
export function selfSigned(validTo = new Date(Date.now() + 86_400_000)): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from('localhost')))));
  const validity = sequence(time(new Date(validTo.getTime() - 2 * 86_400_000)), time(validTo));
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKeyInfo,
    der(0xa3, sequence(isAuthority, alternativeNames)),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

/** One DER value: tag, length, content. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const lengthBytes =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...lengthBytes), content]);
}

const sequence = (...contents: Buffer[]): Buffer => der(0x30, ...contents);
const set = (...contents: Buffer[]): Buffer => der(0x31, ...contents);
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));
const integer = (value: number): Buffer => der(0x02, Buffer.of(value));
const time = (at: Date): Buffer => der(0x18, Buffer.from(at.toISOString().replace(/[-:T]|\.\d+/g, '')));

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const isAuthority = sequence(oid(0x55, 0x1d, 0x13), der(0x04, sequence(der(0x01, Buffer.of(255)))));
const alternativeNames = sequence(
  oid(0x55, 0x1d, 0x11),
  der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))),
);
