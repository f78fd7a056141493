import type { LoadedSettings, Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import { noticeText } from './notice-text.ts'
import type { CodingAgentOptions } from './options.ts'

/** These say where settings and records of trust are: they were read by then. */
export const decidedBefore: ReadonlySet<string> = new Set([
  'HOME',
  'HALTING_CONFIG_DIR',
  'CLAUDE_CONFIG_DIR',
  'HALTING_TRUST_FOLDER',
  'HALTING_SESSION_STORE',
])

/** What trusts the folder for this session; the records decide when undefined, and nothing does when false. */
export function trustedBy(
  { trust, settingSources }: Pick<CodingAgentOptions, 'trust' | 'settingSources'>,
  env: Environment,
): string | false | undefined {
  if (trust !== undefined) return trust && 'trust: true'
  if (env['HALTING_TRUST_FOLDER'] === '1') return 'HALTING_TRUST_FOLDER=1'
  return settingSources?.includes('project') === true ? 'settingSources' : undefined
}

/** What the project's settings would have done if somebody had trusted the folder, in one line. */
export function untrusted({ trust, ignored }: LoadedSettings): readonly string[] {
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  if (trust === undefined || waiting.length === 0) return []
  return [noticeText({ kind: 'untrusted_settings', folder: trust, ignored: waiting })]
}

/** The store of the settings is the program's: a library is not to write to a person's database unasked. */
export function withoutStore(
  { persistSession }: Pick<CodingAgentOptions, 'persistSession'>,
  { settings: { sessionStore = 'files' } }: LoadedSettings,
): readonly string[] {
  if (sessionStore === 'files' || persistSession === false) return []
  return ['sessionStore in the settings applies to the program only. codingAgent stores this session in a file.']
}

/** The environment with what settings say of it; that of this process is as it was. */
export function environmentWith({ env = {} }: Settings, outer: Environment, notes: string[]): Environment {
  const late = Object.keys(env).filter((name) => decidedBefore.has(name))
  if (late.length > 0)
    notes.push(`env in settings does not set ${late.join(', ')}: set it where the program is started.`)
  return { ...outer, ...Object.fromEntries(Object.entries(env).filter(([name]) => !decidedBefore.has(name))) }
}
