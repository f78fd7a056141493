import { type FoundFile, loadSettings, type Settings } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import type { Finding, Patient } from './finding.ts'

/** The settings files that are there: what counts of them, and what is passed over. */
export async function settingsFindings({
  flags,
  env,
  cwd,
  home,
}: Patient): Promise<{ readonly findings: readonly Finding[]; readonly settings: Settings }> {
  try {
    const { settings, files, warnings } = await loadSettings({ cwd, home, env, given: flags.settings })
    if (files.length === 0) {
      return { settings, findings: [{ what: 'settings', state: 'good', says: 'no settings file is there' }] }
    }
    const others = warnings.filter((warning) => !warning.includes('does not serve yet'))
    return { settings, findings: [...files.map(findingOf), ...others.map(noted)] }
  } catch (thrown) {
    return { settings: {}, findings: [{ what: 'settings', state: 'broken', says: messageOf(thrown) }] }
  }
}

function findingOf({ name, served, passedOver }: FoundFile): Finding {
  const counts = served.length === 0 ? 'nothing in it counts' : `${served.join(', ')} counts`
  const ignored = passedOver.length === 0 ? '' : `; passed over: ${passedOver.join(', ')}`
  return { what: 'settings', state: passedOver.length === 0 ? 'good' : 'note', says: `${name}: ${counts}${ignored}` }
}

function noted(says: string): Finding {
  return { what: 'settings', state: 'note', says }
}
