import type { LoadedSettings, Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import { noticeText } from './notice-text.ts'
import type { CodingAgentOptions } from './options.ts'

/** Variables that locate settings and trust records. They are read before the settings are loaded. */
export const bootstrapVariables: ReadonlySet<string> = new Set([
  'HOME',
  'HALTING_CONFIG_DIR',
  'CLAUDE_CONFIG_DIR',
  'HALTING_TRUST_FOLDER',
  'HALTING_SESSION_STORE',
])

/**
 * Returns the reason why the folder is trusted for this session. Undefined: the stored decisions apply. False: the
 * folder is not trusted.
 */
export function trustedBy(
  { trust, settingSources }: Pick<CodingAgentOptions, 'trust' | 'settingSources'>,
  env: Environment,
): string | false | undefined {
  if (trust !== undefined) return trust && 'trust: true'
  if (env['HALTING_TRUST_FOLDER'] === '1') return 'HALTING_TRUST_FOLDER=1'
  return settingSources?.includes('project') === true ? 'settingSources' : undefined
}

/** One line about what the project's settings would do if the folder were trusted. */
export function untrustedNotes({ trust, ignored }: LoadedSettings): readonly string[] {
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  if (trust === undefined || waiting.length === 0) return []
  return [noticeText({ kind: 'untrusted_settings', folder: trust, ignored: waiting })]
}

/**
 * Removes the session store from the settings: only the program may select it, and a library must not write to a
 * user's database unasked.
 */
export function withoutStore(
  { persistSession }: Pick<CodingAgentOptions, 'persistSession'>,
  { settings: { sessionStore = 'files' } }: LoadedSettings,
): readonly string[] {
  if (sessionStore === 'files' || persistSession === false) return []
  return ['sessionStore in the settings applies to the program only. codingAgent stores this session in a file.']
}

/** Returns the environment with the variables of the settings. Does not change the environment of this process. */
export function environmentWith({ env = {} }: Settings, outer: Environment, notes: string[]): Environment {
  const late = Object.keys(env).filter((name) => bootstrapVariables.has(name))
  if (late.length > 0)
    notes.push(`env in settings does not set ${late.join(', ')}: set it where the program is started.`)
  return { ...outer, ...Object.fromEntries(Object.entries(env).filter(([name]) => !bootstrapVariables.has(name))) }
}
