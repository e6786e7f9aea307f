import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../fixtures/free-port.ts';

/**
 * Servers of Debian, unpacked into a temporary folder; and of them Postfix and Exim, as installing them would start services and one excludes
 * the other. Needs apt, and root, as which both begin. Each has a port without login and one with.
 */

const run = promisify(execFile);

/** The only login, on the second port. */
export const login = { user: 'hiring', password: 'right-1' };

/** How many mails a connection to Exim may bring. */
const mailsPerConnection = 4;
/** The longest mail. */
export const maxBytes = 50_000;

export interface MailServer {
  /** Anybody may send to example.com. `nobody@`, `grey@` and `hangup@example.com` are refused, the two for now. */
  readonly port: number;
  /** With a login, after STARTTLS, anywhere. */
  readonly loginPort: number;
  /** How many mails it has taken. */
  mails(): Promise<number>;
  stop(): Promise<void>;
}

export const mailPackages = ['postfix', 'exim4-daemon-light', 'libnss-wrapper'];

/** Fetches the packages with the libraries that this machine lacks. Gives the folder. */
export async function unpackDebian(packages: readonly string[]): Promise<string> {
  if (process.getuid?.() !== 0) throw new Error('test:servers needs root, as which servers begin');
  await run('apt-get', ['update']);
  const folder = await mkdtemp(join(tmpdir(), 'servers-'));
  await chmod(folder, 0o755);
  const missing = await Promise.all(packages.map(librariesFor));
  const names = [...new Set([...packages, ...missing.flat()])];
  await run('apt-get', ['download', ...names], { cwd: folder });
  const files = await readdir(folder);
  for (const file of files) await run('dpkg', ['-x', file, 'root'], { cwd: folder });
  return folder;
}

async function librariesFor(name: string): Promise<string[]> {
  const { stdout } = await run('apt-get', ['-s', 'install', name]);
  return [...stdout.matchAll(/^Inst (lib\S+)/gm)].map(([, library = '']) => library);
}

const users = `root:x:0:0::/root:/bin/sh
Debian-exim:x:65534:65534::/tmp:/bin/false
nobody:x:65534:65534::/tmp:/bin/false
postfix:x:65533:65533::/tmp:/bin/false
`;
const groups = 'root:x:0:\nDebian-exim:x:65534:\nnogroup:x:65534:\npostfix:x:65533:\npostdrop:x:65532:\n';

/** The libraries of the packages, and the users that installing them would have made. */
async function environment(folder: string): Promise<NodeJS.ProcessEnv> {
  const [passwd, group] = [join(folder, 'passwd'), join(folder, 'group')];
  await writeFile(passwd, users);
  await writeFile(group, groups);
  return {
    PATH: process.env.PATH,
    LD_LIBRARY_PATH: await librariesIn(folder),
    LD_PRELOAD: 'libnss_wrapper.so',
    NSS_WRAPPER_PASSWD: passwd,
    NSS_WRAPPER_GROUP: group,
  };
}

/** Where the unpacked programs find what they link to. */
export async function librariesIn(folder: string): Promise<string> {
  const libraries = join(folder, 'root/usr/lib');
  // Where the machine has them all, none was unpacked.
  const names = existsSync(libraries) ? await readdir(libraries) : [];
  const machine = names.find((name) => name.endsWith('-linux-gnu')) ?? '';
  return [machine, `${machine}/systemd`, 'postfix'].map((name) => join(libraries, name)).join(':');
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Starts a server in a process group of its own, and waits until it greets. */
async function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv, port: number) {
  const server = spawn(command, args, { env, detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(server, 'exit');
  process.once('exit', () => server.kill());
  for (let tries = 0; !(await greets(port)); tries += 1) {
    if (tries > 100 || server.exitCode !== null) throw new Error(`${command} does not answer`);
    await sleep(100);
  }
  return async () => {
    server.kill();
    await ended;
  };
}

async function greets(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'data');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function homeOf(name: string, folder: string, { key, cert }: Certificate): Promise<string> {
  const home = join(folder, name);
  await mkdir(home);
  await writeFile(join(home, 'key.pem'), key);
  await writeFile(join(home, 'cert.pem'), cert);
  return home;
}

const countIn = async (folder: string, end: string): Promise<number> =>
  (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(end)).length;

export async function startExim(folder: string, certificate: Certificate): Promise<MailServer> {
  const home = await homeOf('exim', folder, certificate);
  const [port, loginPort] = [await freePort(), await freePort()];
  const config = join(home, 'exim.conf');
  await writeFile(config, eximConfig(home, port, loginPort));
  for (const name of ['.', 'spool', 'log', 'key.pem']) {
    if (/^[sl]/.test(name)) await mkdir(join(home, name));
    await chown(join(home, name), 65534, 65534);
  }
  const program = join(folder, 'root/usr/sbin/exim4');
  const stop = await start(program, ['-C', config, '-bdf'], await environment(folder), port);
  return { port, loginPort, stop, mails: () => countIn(join(home, 'spool/input'), '-D') };
}

const eximConfig = (home: string, port: number, loginPort: number) => `
exim_user = Debian-exim
exim_group = Debian-exim
primary_hostname = mail.example.com
spool_directory = ${home}/spool
log_file_path = ${home}/log/%slog
pid_file_path = ${home}/exim.pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port} : ${loginPort}
queue_only
message_size_limit = ${maxBytes}
smtp_accept_max_per_connection = ${mailsPerConnection}
tls_advertise_hosts = \${if eq{$received_port}{${loginPort}}{*}{}}
tls_certificate = ${home}/cert.pem
tls_privatekey = ${home}/key.pem
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = recipient

begin acl
recipient:
  defer local_parts = grey
        condition = \${if exists{${home}/spool/grey}{no}{\${run{/usr/bin/touch ${home}/spool/grey}{yes}{yes}}}}
        message = Greylisted, come back later
  defer local_parts = hangup
        message = 421 4.7.0 Try again later
  accept authenticated = *
  deny !domains = example.com
       message = relay not permitted
  deny local_parts = nobody
       message = Unknown user
  accept

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{${login.user}}}{eq{$auth3}{${login.password}}}}}
  server_set_id = $auth2
`;

export async function startPostfix(folder: string, certificate: Certificate): Promise<MailServer> {
  const home = await homeOf('postfix', folder, certificate);
  const [port, loginPort] = [await freePort(), await freePort()];
  const services = [await startGreylist(), await startLogins()] as const;
  const env = { ...(await environment(folder)), MAIL_CONFIG: home };
  await writeFile(join(home, 'main.cf'), postfixConfig(home, folder, services, Object.keys(env)));
  await writeFile(join(home, 'master.cf'), postfixServices(port, loginPort));
  await makeQueue(home);
  const program = join(folder, 'root/usr/lib/postfix/sbin/master');
  const stop = await start(program, ['-d', '-c', home], env, port);
  const mails = () => countIn(join(home, 'queue/hold'), '');
  return {
    port,
    loginPort,
    mails,
    stop: () => stop().then(() => services.forEach((service) => service.stop())),
  };
}

/** A service that Postfix asks over TCP. */
async function startService(greeting: string, answer: (asked: string) => string) {
  const server = createServer((socket) => {
    socket.on('error', () => {}).write(greeting);
    socket.on('data', (asked) => socket.write(answer(asked.toString())));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, stop: () => void server.close() };
}

/** What Postgrey is to Postfix (postfix.org/SMTPD_POLICY_README.html): it defers a recipient the first time. */
function startGreylist() {
  let isNew = true;
  return startService('', (asked) => {
    const defers = isNew && asked.includes('recipient=grey@example.com\n');
    if (defers) isNew = false;
    return `action=${defers ? 'DEFER_IF_PERMIT Greylisted' : 'DUNNO'}\n\n`;
  });
}

/** What Dovecot is to Postfix (doc.dovecot.org, "Authentication protocol"): it knows the login. */
function startLogins() {
  const greeting = 'VERSION\t1\t1\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t0\nDONE\n';
  const right = Buffer.from(`\0${login.user}\0${login.password}`).toString('base64');
  return startService(greeting, (asked) => {
    const [, id, response] = /^AUTH\t(\d+)\t.*\bresp=(\S+)$/m.exec(asked) ?? [];
    if (id === undefined) return '';
    return `${response === right ? 'OK' : 'FAIL'}\t${id}\tuser=${login.user}\n`;
  });
}

/**
 * Its parameters for where Debian's package puts things under `/usr` lead into the folder where the package was unpacked:
 * the machine's own `/usr` has no Postfix.
 */
const postfixConfig = (
  home: string,
  folder: string,
  [greylist, logins]: readonly [{ readonly port: number }, { readonly port: number }],
  passedOn: readonly string[],
) => `
compatibility_level = 3.6
queue_directory = ${home}/queue
data_directory = ${home}/data
daemon_directory = ${folder}/root/usr/lib/postfix/sbin
command_directory = ${folder}/root/usr/sbin
shlib_directory = ${folder}/root/usr/lib/postfix
meta_directory = ${home}
mail_owner = postfix
setgid_group = postdrop
default_privs = nobody
maillog_file = ${home}/postfix.log
maillog_file_prefixes = ${folder}
import_environment = ${passedOn.join(' ')}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.example.com
mydestination =
mynetworks =
alias_maps =
alias_database =
relay_domains = example.com
relay_recipient_maps = inline:{ {ana@example.com=x} {dana@example.com=x} {grey@example.com=x} {hangup@example.com=x} }
message_size_limit = ${maxBytes}
smtpd_helo_required = yes
smtpd_helo_restrictions = reject_invalid_helo_hostname, reject_non_fqdn_helo_hostname
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
smtpd_recipient_restrictions =
  check_recipient_access inline:{ {hangup@example.com = 421 4.7.0 Try again later} }
  check_policy_service inet:127.0.0.1:${greylist.port}
smtpd_data_restrictions = check_sender_access static:HOLD
smtpd_tls_cert_file = ${home}/cert.pem
smtpd_tls_key_file = ${home}/key.pem
smtpd_tls_auth_only = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:${logins.port}
`;

const postfixServices = (port: number, loginPort: number) => `
127.0.0.1:${port} inet n - n - - smtpd
127.0.0.1:${loginPort} inet n - n - - smtpd
  -o smtpd_tls_security_level=may -o smtpd_sasl_auth_enable=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
tlsmgr unix - - n 1000? 1 tlsmgr
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`;

async function makeQueue(home: string): Promise<void> {
  const own = 'active bounce corrupt defer deferred flush hold incoming maildrop private public saved trace';
  await mkdir(join(home, 'queue/pid'), { recursive: true });
  for (const name of ['data', ...own.split(' ').map((each) => join('queue', each))]) {
    await mkdir(join(home, name));
    await chown(join(home, name), 65533, /public|maildrop/.test(name) ? 65532 : 65533);
  }
}

/** Undefined where unpacking failed. */
export const remove = async (folder: string | undefined): Promise<void> =>
  folder === undefined ? undefined : rm(folder, { recursive: true });
