import type { FoundFile } from '@halting/policy/settings'
import { messageOf } from '@halting/core/adapters'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { noSettings, noPlugins } from '@halting/agent/session-settings'
import type { Finding, Patient } from './finding.ts'

/** The settings files that are there: what counts of them, and what is passed over. */
export async function settingsFindings(
  patient: Patient,
): Promise<{ readonly findings: readonly Finding[]; readonly run: RunSettings }> {
  try {
    const run = await settingsFor(patient.flags, patient)
    const { files, warnings } = run
    if (files.length === 0) {
      return { run, findings: [{ what: 'settings', state: 'good', says: 'no settings files' }] }
    }
    return { run, findings: [...files.map(findingOf), ...warnings.map(noted)] }
  } catch (thrown) {
    const { flags, env } = patient
    return {
      run: { ...noSettings, choices: flags, env, plugins: noPlugins },
      findings: [{ what: 'settings', state: 'broken', says: messageOf(thrown) }],
    }
  }
}

function findingOf({ name, served, passedOver }: FoundFile): Finding {
  const counts = served.length === 0 ? 'nothing in it applies' : `applies ${served.join(', ')}`
  const ignored = passedOver.length === 0 ? '' : `; ignores ${passedOver.join(', ')}`
  return { what: 'settings', state: passedOver.length === 0 ? 'good' : 'note', says: `${name}: ${counts}${ignored}` }
}

function noted(says: string): Finding {
  return { what: 'settings', state: 'note', says }
}
