import { changeTrust, folderTrust, isTooBroad, readTrust, type TrustOwner } from '@halting/policy'
import { projectOffers } from '@halting/policy/settings'
import { realPath } from '@halting/agent'
import { homeFolder } from '@halting/policy/files'
import type { Flags } from '../flags/flags.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { trustedBy } from '../flags/session-ports.ts'
import type { QuestionTerminal } from '../io/ask.ts'
import { askTrust, offersText } from './question.ts'

/**
 * Asks whether the folder is trusted, where its files bring something that does not count yet, before anything of it is read (spec R-TERM-62). A yes is on
 * record; a no holds for this time. What was revoked is not asked about again.
 */
export async function trustAtStart(flags: Flags, program: Program, terminal: QuestionTerminal): Promise<void> {
  const { env, cwd, output } = program
  const owner: TrustOwner = { cwd, env, home: homeFolder(env) }
  const folder = realPath(cwd)
  const isReading = flags.settingSources === undefined || flags.settingSources.includes('project')
  if (!isReading || isTooBroad(folder, owner)) return
  const once = trustedBy(flags, env)
  const trust = await folderTrust({ ...owner, once })
  const { records } = await readTrust(owner)
  if (once !== undefined || records.get(folder)?.trusted === false) return
  const { writtenOffers } = await import('@halting/agent/instructions')
  const place = { ...owner, cwd: folder }
  const offers = [...(await projectOffers(place)), ...(await writtenOffers(place))]
  const waiting = offers.filter((offer) => !trust.lets(offer))
  if (waiting.length === 0) return
  output.err(offersText(folder, waiting))
  if (!(await askTrust(terminal))) {
    output.err(
      told(
        `${oneLine(folder, 200)} is not trusted: the settings listed above are ignored. Run halting trust to decide again.`,
      ),
    )
    return
  }
  await changeTrust(owner, (all) => {
    all.set(folder, { trusted: true, since: new Date().toISOString(), offers: offers.map(({ id }) => id) })
  })
}
