/** Settings of git that name programs, each with a value that runs nothing. They override every file. */
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
 * Additional environment for a command line of which no part needs a rule. It disables everything that its programs
 * would start or contact in addition to their task.
 */
export function hardenedEnvironment(): Readonly<Record<string, string>> {
  return unruledLineVariables
}

/**
 * Environment for a command that runs without a rule, so that git starts no program. The command cannot override this
 * environment: assignments to these names, `-c` and other settings folders always need a rule.
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

// less starts no preprocessor, pip does not check for a newer pip, and go starts no other toolchain.
const unruledLineVariables: Readonly<Record<string, string>> = Object.freeze({
  ...hardeningVariables,
  LESSSECURE: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  GOTOOLCHAIN: 'local',
})
