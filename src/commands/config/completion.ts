import type { Command } from 'commander';
import { connectors } from '../../../connectors/index.ts';
import { namesIn } from '../../config/load.ts';
import { command, TypedArgument } from '../command.ts';
import { exit, type Io } from '../output.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const program = 'candidate-connector';

/** The scripts that make a shell ask the program when Tab is pressed, and offer files if it has nothing to offer. */
const scripts: { readonly [shell in Shell]: string } = {
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

export const completion = command({
  name: 'completion',
  description: 'print what makes a shell complete commands, options and names on Tab',
  examples: [
    'completion bash > /etc/bash_completion.d/candidate-connector',
    'completion zsh > "${fpath[1]}/_candidate-connector"',
    'completion fish > ~/.config/fish/completions/candidate-connector.fish',
  ],
  argument: new TypedArgument<Shell>('<shell>', 'which shell').choices(shells),
  async run(_options, io, shell) {
    io.out(scripts[shell]);
    return exit.ok;
  },
});

export async function complete(line: Command, words: readonly string[], io: Io): Promise<number> {
  const current = words.at(-1) ?? '';
  for (const offer of await offersFor(line, words.slice(0, -1), current))
    if (offer.startsWith(current)) io.out(offer);
  return exit.ok;
}

const isConfig = (word: string | undefined): boolean => word === '--config' || word === '-c';

async function offersFor(
  line: Command,
  words: readonly string[],
  current: string,
): Promise<readonly string[]> {
  // --config and its file may stand before the command, too.
  const nameAt = isConfig(words[0]) ? 2 : 0;
  if (words.length < nameAt) return [];
  const name = words[nameAt];
  const given = words.toSpliced(nameAt, 1);
  if (name === undefined)
    return line
      .createHelp()
      .visibleCommands(line)
      .map((one) => one.name());
  const called = line.commands.find((one) => one.name() === name);
  if (!called) return [];
  const at = given.findLastIndex(isConfig);
  const config = (at < 0 ? '' : given[at + 1]) || (called.opts()['config'] as string);
  const word = given.at(-1) ?? '';
  const last = called.options.find(({ short, long }) => word === short || word === long);
  if (last?.required) {
    const key = last.attributeName();
    const earlier = lists.has(key) ? current.slice(0, current.lastIndexOf(',') + 1) : '';
    return (last.argChoices ?? (await namesOf(key, config))).map((value) => earlier + value);
  }
  if (current.startsWith('-'))
    return called.options.flatMap(({ long }) => (long && !given.includes(long) ? [long] : []));
  const [argument] = called.registeredArguments;
  return argument ? (argument.argChoices ?? namesOf(argument.name(), config)) : [];
}

/** Options that take several values with commas. */
const lists = new Set(['state', 'tools']);

async function namesOf(key: string, file: string): Promise<readonly string[]> {
  if (key === 'tools') return [...connectors.keys()];
  if (key !== 'sink' && key !== 'rule') return [];
  const { sinks, rules } = await namesIn(file);
  return key === 'sink' ? sinks : rules;
}
