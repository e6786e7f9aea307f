import { connect } from 'node:net';

/** Posts events over 64 connections as fast as they are answered. Takes port and how many; tells when the first was answered. */

const connections = 64;
const [port = '', count = ''] = process.argv.slice(2);
let sent = 0;
let firstAt = 0;
let refused = 0;

function nextRequest(): string {
  sent += 1;
  const body = `{"candidateId":"${sent.toString(16).padStart(32, '0')}","testId":1234567,"status":"Completed"}`;
  return `POST /webhooks/candidates HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function keepPosting(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
    const post = () => {
      if (sent < Number(count)) socket.write(nextRequest(), 'latin1');
      else socket.end();
    };
    socket.on('connect', post);
    // An answer of this size comes in one piece.
    socket.on('data', (answer: string) => {
      firstAt ||= Date.now();
      if (!/^HTTP\/1\.1 20[02]/.test(answer)) refused += 1;
      post();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}

await Promise.all(Array.from({ length: connections }, keepPosting));
process.send?.({ firstAt, refused });
