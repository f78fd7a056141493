import { ConfigurationError } from '@halting/core'
import { sessionStoreVariable } from '@halting/journal'
import type { Command } from '../flags/command-table.ts'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import type { Program, SessionStoreInUse } from '../program.ts'
import { homeFolderIfKnown, parseSessionStore } from './parse-store.ts'
import { UsageError } from '../usage-error.ts'

/** Commands that do not use the user's stored sessions, or store them elsewhere. */
const withoutSessions: ReadonlySet<Command | undefined> = new Set<Command | undefined>([
  'cluster',
  'completion',
  'demo',
  'init',
  'models',
  'permissions',
  'serve',
  'setup',
  'trust',
])

/**
 * Adds the session store that the flag, the variable or the user's settings name. The environment then contains its
 * absolute address, which is the only source for later code. Settings of projects are ignored.
 * @throws UsageError for an invalid store, and ConfigurationError for settings that cannot be read
 */
export async function withConfiguredStore(
  flags: Flags,
  program: Program,
  command: Command | undefined,
): Promise<Program> {
  const isElsewhere = withoutSessions.has(command) || flags.cluster !== undefined
  if (isElsewhere && flags.sessionStore !== undefined)
    throw new UsageError(
      flags.cluster === undefined
        ? `halting ${command} uses no stored sessions, so --session-store has no effect. Remove it.`
        : 'A cluster stores its sessions itself. Give --cluster or --session-store, not both.',
    )
  const store = isElsewhere
    ? undefined
    : await configuredStore(flags, program).catch((thrown: unknown) => {
        // These commands report problems of settings, and use no session.
        if ((command === 'config' || command === 'doctor') && thrown instanceof ConfigurationError) return undefined
        throw thrown
      })
  const env = { ...program.env, [sessionStoreVariable]: store?.value ?? '' }
  if (store === undefined) return program.env[sessionStoreVariable] === undefined ? program : { ...program, env }
  return { ...program, env, sessionStore: store }
}

async function configuredStore(flags: Flags, place: Program): Promise<SessionStoreInUse | undefined> {
  const { sessionStore: flag } = flags
  const { cwd, env } = place
  if (flag !== undefined) return parseSessionStore(flag, '--session-store', place)
  const named = env[sessionStoreVariable] ?? ''
  if (named !== '') return parseSessionStore(named, sessionStoreVariable, place)
  const home = homeFolderIfKnown(env)
  if (home === undefined) return undefined
  const { mentionsSetting, loadSettings } = await import('@halting/policy/settings')
  const options = { cwd, home, env, given: flags.settings }
  if (!(await mentionsSetting('sessionStore', options))) return undefined
  const { settings, origins } = await loadSettings({
    ...options,
    sources: flags.settingSources?.includes('user') === false ? [] : ['user'],
    // Where sessions are stored must not depend on `--setting-sources`.
    alwaysOwn: ['sessionStore'],
    nearest,
    trustedBy: false,
  })
  const from = origins.find(({ setting }) => setting === 'sessionStore')?.from ?? ''
  return settings.sessionStore === undefined ? undefined : parseSessionStore(settings.sessionStore, from, place)
}
