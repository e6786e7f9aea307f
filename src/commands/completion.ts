import type { Command, Option } from 'commander';
import { connectors } from '../../connectors/index.ts';
import { namesIn } from '../config/load.ts';
import { exit, type Io } from './output.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

const program = 'candidate-connector';

/** What a shell does when Tab is pressed: it asks the program. Where that has nothing to offer, the shell offers files. */
const scripts: { readonly [shell in (typeof shells)[number]]: string } = {
  bash: `# candidate-connector completion bash > /etc/bash_completion.d/candidate-connector
_candidate_connector() {
  local offer
  COMPREPLY=()
  while IFS= read -r offer; do
    COMPREPLY+=("$(printf %q "$offer")")
  done < <(${program} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o default -F _candidate_connector ${program}`,
  zsh: `#compdef ${program}
# candidate-connector completion zsh > "\${fpath[1]}/_candidate-connector"
_candidate_connector() {
  local -a offers
  offers=("\${(@f)$(${program} complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -n "$offers" ]]; then compadd -a offers; else _files; fi
}
compdef _candidate_connector ${program}`,
  fish: `# candidate-connector completion fish > ~/.config/fish/completions/candidate-connector.fish
function __candidate_connector
    set -l words (commandline -opc) (commandline -ct | string collect --allow-empty)
    set -g __candidate_connector_offers (${program} complete -- $words[2..-1] 2> /dev/null)
    test -n "$__candidate_connector_offers"
end
complete -c ${program} -n __candidate_connector -f -a '$__candidate_connector_offers'`,
};

export function printCompletion(shell: (typeof shells)[number], io: Io): number {
  io.out(scripts[shell]);
  return exit.ok;
}

/** Prints what the last of these words may become, one a line. */
export async function complete(line: Command, words: readonly string[], io: Io): Promise<number> {
  const current = words.at(-1) ?? '';
  const offers = await offersFor(line, words.slice(0, -1), current);
  for (const offer of offers) if (offer.startsWith(current)) io.out(offer);
  return exit.ok;
}

async function offersFor(
  line: Command,
  before: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const [name, ...given] = before;
  if (name === undefined)
    return line
      .createHelp()
      .visibleCommands(line)
      .map((one) => one.name());
  const command = line.commands.find((one) => one.name() === name);
  if (!command) return [];
  const word = given.at(-1) ?? '';
  const last = command.options.find(({ short, long }) => word === short || word === long);
  if (last?.required) return valuesOf(last, current, configOf(command, given));
  if (current.startsWith('-'))
    return command.options.flatMap(({ long }) => (long && !given.includes(long) ? [long] : []));
  const named = command.registeredArguments.map(
    async (one) => one.argChoices ?? namesOf(one.name(), configOf(command, given)),
  );
  return (await Promise.all(named)).flat();
}

/** Several of some go into one word, with commas. */
const lists = new Set(['state', 'tools']);

async function valuesOf(option: Option, current: string, file: string): Promise<readonly string[]> {
  const key = option.attributeName();
  const values = option.argChoices ?? (await namesOf(key, file));
  const earlier = lists.has(key) ? current.slice(0, current.lastIndexOf(',') + 1) : '';
  return values.map((value) => earlier + value);
}

async function namesOf(key: string, file: string): Promise<readonly string[]> {
  if (key === 'tools') return [...connectors.keys()];
  if (key !== 'sink' && key !== 'rule') return [];
  const { sinks, rules } = await namesIn(file);
  return key === 'sink' ? sinks : rules;
}

/** The config that these words name, or the usual one. */
function configOf(command: Command, given: readonly string[]): string {
  const at = given.findLastIndex((word) => word === '--config' || word === '-c');
  return given[at + 1] && at >= 0 ? given[at + 1]! : (command.opts()['config'] as string);
}
