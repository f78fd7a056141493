import { resolve } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import { sessionStoreName, sessionStoreVariable } from '@halting/journal'
import type { Command } from '../flags/command-table.ts'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import type { Program, SessionStoreInUse } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** Commands that neither write nor read sessions of the person, or that keep them elsewhere. */
const withoutSessions: ReadonlySet<Command | undefined> = new Set<Command | undefined>([
  'cluster',
  'demo',
  'init',
  'models',
  'permissions',
  'serve',
  'setup',
  'trust',
])

/**
 * The program with the store that the flag, the variable or the settings name: its environment says it, by an absolute path, and nothing else is asked where
 * sessions are. A project's settings do not count.
 * @throws UsageError for what names no store, and ConfigurationError for settings that cannot be read.
 */
export async function withWantedStore(flags: Flags, program: Program, command: Command | undefined): Promise<Program> {
  const isElsewhere = withoutSessions.has(command) || flags.cluster !== undefined
  if (isElsewhere && flags.sessionStore !== undefined)
    throw new UsageError(
      flags.cluster === undefined
        ? `halting ${command} uses no stored sessions, so --session-store has no effect. Remove it.`
        : 'A cluster stores its sessions itself. Give --cluster or --session-store, not both.',
    )
  const wanted = isElsewhere ? undefined : await wantedStore(flags, program)
  const env = { ...program.env, [sessionStoreVariable]: wanted?.value ?? '' }
  if (wanted === undefined) return program.env[sessionStoreVariable] === undefined ? program : { ...program, env }
  return { ...program, env, sessionStore: wanted }
}

async function wantedStore(flags: Flags, { cwd, env }: Program): Promise<SessionStoreInUse | undefined> {
  const { sessionStore: flag } = flags
  const home = homeOf(env)
  const place = { cwd, home: home ?? cwd }
  if (flag !== undefined) return storeOf(flag, '--session-store', place)
  const named = env[sessionStoreVariable] ?? ''
  if (named !== '') return storeOf(named, sessionStoreVariable, place)
  if (home === undefined) return undefined
  const { mentionsSetting, loadSettings } = await import('@halting/policy/settings')
  const options = { cwd, home, env, given: flags.settings }
  if (!(await mentionsSetting('sessionStore', options))) return undefined
  const { settings, origins } = await loadSettings({
    ...options,
    sources: flags.settingSources?.includes('user') === false ? [] : ['user'],
    // Where sessions are does not depend on which settings a program reads.
    alwaysOwn: ['sessionStore'],
    nearest,
    trustedBy: false,
  })
  const from = origins.find(({ setting }) => setting === 'sessionStore')?.from ?? ''
  return settings.sessionStore === undefined ? undefined : storeOf(settings.sessionStore, from, place)
}

/** Undefined where no home is known: whoever needs one says so. */
function homeOf(env: Program['env']): string | undefined {
  try {
    return homeFolder(env)
  } catch {
    return undefined
  }
}

/** Undefined for files. Nothing of what is wrong is repeated: it may hold a password. @throws UsageError */
function storeOf(
  given: string,
  from: string,
  { cwd, home }: { readonly cwd: string; readonly home: string },
): SessionStoreInUse | undefined {
  const text = given.trim()
  if (text === 'files') return undefined
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path !== undefined) {
    const value = `sqlite:${path.startsWith('~/') ? resolve(home, path.slice(2)) : resolve(cwd, path)}`
    return { value, name: value, from }
  }
  if (/^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text))
    return { value: text, name: sessionStoreName(text), from }
  throw new UsageError(
    `${from} must be sqlite:PATH, an address such as postgres://user@host/database, or files (the value is not shown: it may hold a password).`,
  )
}
