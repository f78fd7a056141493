// Tests R-STEP-13, R-JOUR-3 and R-JOUR-4 of docs/spec: the file driver passes the checks for drivers.
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkStepEngine, type CheckedSession, type CheckedStore } from '@halting/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendingTo, type JournalHandle } from '../src/journal-handle.ts'
import { lineOf } from '../src/format/line.ts'
import { openJournal } from '../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-driver-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

let stores = 0

/** A session in a file. A dead process may lose what it has not synced. */
function fileStore(losesWhatWasNotSynced: boolean): CheckedStore {
  const sessionId = `session-${++stores}`
  const path = join(folder, `${sessionId}.jsonl`)
  return {
    async open(): Promise<CheckedSession> {
      let synced = 0
      let isGone = false
      const openFile = async (): Promise<JournalHandle> => {
        const file = await appendingTo(path)
        synced = readFileSync(path).length
        return {
          appendFile: async (text) => {
            if (!isGone) await file.appendFile(text)
          },
          datasync: async () => {
            // A dead process syncs nothing.
            if (!isGone) synced = readFileSync(path).length
          },
          close: () => file.close(),
        }
      }
      const journal = await openJournal({ path, sessionId, cwd: '/project', version: '0.1.0', openFile })
      const { transcript, open, log } = journal
      return {
        transcript,
        open,
        log,
        close: () => journal.close(),
        async kill() {
          isGone = true
          await journal.close()
          if (losesWhatWasNotSynced) truncateSync(path, synced)
        },
      }
    },
    async writeAsLaterVersion() {
      const [head = '', ...lines] = readFileSync(path, 'utf8').split('\n')
      const { sum: _sum, ...fields } = JSON.parse(head) as { readonly [field: string]: unknown }
      writeFileSync(path, lineOf({ ...fields, format: 99 }) + lines.join('\n'))
    },
  }
}

test('survives a killed process, and a machine that loses unsynced data', async () => {
  expect(await checkStepEngine(() => fileStore(true))).toEqual([])
  expect(await checkStepEngine(() => fileStore(false))).toEqual([])
}, 120_000)
