/** Settings of git that name programs, each with what runs nothing. They stand above those of every file. */
const disabledPrograms: readonly (readonly [key: string, value: string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.sshCommand', 'false'],
  ['core.askPass', ''],
  ['core.gitProxy', ''],
  ['core.alternateRefsCommand', ''],
  ['sequence.editor', 'false'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['log.showSignature', 'false'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['diff.submodule', 'short'],
  ['submodule.recurse', 'false'],
  ['safe.bareRepository', 'explicit'],
  ['fetch.writeCommitGraph', 'false'],
]

/**
 * The environment of a line of which no part needs a rule, in addition to that of commands: what its programs would start
 * or ask beside their work is turned off.
 */
export function hardenedEnvironment(): Readonly<Record<string, string>> {
  return unruledLineVariables
}

/**
 * What a command that runs without a rule gets, so that git starts no program for it. It cannot be undone by the command:
 * assignments to these names, `-c` and other folders of settings are no part of what runs without a rule.
 */
export function gitHardening(): Readonly<Record<string, string>> {
  return hardeningVariables
}

const hardeningVariables: Readonly<Record<string, string>> = Object.freeze({
  GIT_CONFIG_COUNT: String(disabledPrograms.length),
  ...Object.fromEntries(
    disabledPrograms.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
  GIT_PAGER: 'cat',
  GIT_ASKPASS: '',
  GIT_SSH_COMMAND: 'false',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
})

// less runs no program for a file, pip asks no index for a newer pip, go runs no other version of itself.
const unruledLineVariables: Readonly<Record<string, string>> = Object.freeze({
  ...hardeningVariables,
  LESSSECURE: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  GOTOOLCHAIN: 'local',
})
