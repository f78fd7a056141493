import { changeTrust, folderTrust, isTooBroad, readTrust, type Offer, type TrustOwner } from '@halting/policy'
import { askLine, isYes, type QuestionTerminal } from '../io/ask.ts'
import { many, oneLine, programMessage } from '../io/figures.ts'
import { hiddenCharacters, codePointMark } from '../io/reveal-hidden.ts'
import { tableLines } from '../io/table.ts'
import { projectOffers } from '@halting/policy/settings'
import { realPath } from '@halting/agent'
import { homeFolder } from '@halting/policy/files'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { trustSource } from '../flags/session-ports.ts'

/**
 * Lists completely what trusting a folder would run and allow, one line each, because hidden parts would apply, too. The
 * most dangerous items come last, above the question. Control characters are escaped.
 */
export function offersText(folder: string, offers: readonly Offer[]): string {
  if (offers.length === 0) return `The settings of ${oneLine(folder, 300)} run nothing and allow nothing extra.\n`
  const marked = offers.filter(({ needsNaming }) => needsNaming).length
  const running = offers.filter(({ setting }) => runningSettings.has(setting)).length
  return [
    `Trusting ${oneLine(folder, 300)} applies these settings:`,
    ...tableLines(
      offers
        .toSorted((one, other) => weight(one) - weight(other))
        .map(({ setting, text, needsNaming }) => [`${needsNaming ? '!' : ' '} ${setting}`, fullText(text)]),
      { columns: [{}, {}] },
    ),
    ...(offers.length > screenLines
      ? [`  Total: ${many(offers.length, 'setting')}, ${running} run something, ${marked} are marked !.`]
      : []),
    ...(marked > 0 ? ['! can make other programs run, load or send something, or disables a permission request.'] : []),
    '',
  ].join('\n')
}

/** Maximum number of lines without a total; the beginning of a longer list scrolls out of view. */
const screenLines = 20
const runningSettings: ReadonlySet<string> = new Set([
  'hooks',
  'until',
  'apiKeyHelper',
  'statusLine',
  'mcpServers',
  'commands',
])

function weight({ setting, needsNaming }: Offer): number {
  if (needsNaming) return 2
  return runningSettings.has(setting) ? 1 : 0
}

/** Hidden characters, and long runs of blanks that could move text out of sight. */
const hiddenOrBlanks = new RegExp(`${hiddenCharacters}| {9,}`, 'gu')

/** The text on one line with every character visible, so that nothing in it is hidden. */
function fullText(text: string): string {
  return text.replaceAll(hiddenOrBlanks, (found) => {
    if (found === '\n') return '⏎'
    if (found.startsWith(' ')) return ` ⟦${found.length} blanks⟧ `
    return codePointMark(found)
  })
}

/** Asks the user; anything but yes means no. */
export async function askTrust(terminal: QuestionTerminal): Promise<boolean> {
  return isYes(await askLine('Trust this folder and apply these settings from now on? [y/N] ', terminal))
}

/**
 * If the files of this folder contain settings that need trust, asks whether to trust it, before they are read (spec
 * R-TERM-62). A yes is stored; a no applies to this session. After a revocation, it does not ask again.
 */
export async function trustAtStart(flags: Flags, program: Program, terminal: QuestionTerminal): Promise<void> {
  const { env, cwd, output } = program
  const owner: TrustOwner = { cwd, env, home: homeFolder(env) }
  const folder = realPath(cwd)
  const isReading = flags.settingSources === undefined || flags.settingSources.includes('project')
  if (!isReading || isTooBroad(folder, owner)) return
  const once = trustSource(flags, env)
  const trust = await folderTrust({ ...owner, once })
  const { records } = await readTrust(owner)
  if (once !== undefined || records.get(folder)?.trusted === false) return
  const { projectFileOffers } = await import('@halting/agent/instructions')
  const place = { ...owner, cwd: folder }
  const offers = [...(await projectOffers(place)), ...(await projectFileOffers(place))]
  const waiting = offers.filter((offer) => !trust.lets(offer))
  if (waiting.length === 0) return
  output.err(offersText(folder, waiting))
  if (!(await askTrust(terminal))) {
    output.err(
      programMessage(
        `${oneLine(folder, 200)} is not trusted: the settings listed above are ignored. Run halting trust to decide again.`,
      ),
    )
    return
  }
  await changeTrust(owner, (all) => {
    all.set(folder, { trusted: true, since: new Date().toISOString(), offers: offers.map(({ id }) => id) })
  })
}
