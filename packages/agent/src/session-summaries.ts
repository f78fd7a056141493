import {
  type StoredSessionFile,
  type SessionSummary,
  summariesOf as summaries,
  summaryOf as summary,
} from '@halting/journal'

/** What a list shows of each session, in their order, without the keys of models that this process knows. */
export async function summariesOf(files: readonly StoredSessionFile[]): Promise<readonly SessionSummary[]> {
  return summaries(files, await keyRedactor())
}

/** What a list shows of one session, without the keys of models that this process knows. A damaged file is named in its summary. */
export async function summaryOf(file: StoredSessionFile): Promise<SessionSummary> {
  return summary(file, await keyRedactor())
}

async function keyRedactor(): Promise<(text: string) => string> {
  const { createKeyRedactor } = await import('@halting/models')
  return createKeyRedactor(process.env)
}
