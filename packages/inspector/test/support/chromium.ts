import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'

/** The browser program: that of HALTING_CHROMIUM, otherwise the first in PATH; undefined if there is no browser. */
export const chromiumPath: string | undefined = findChromium()

/** Runs headless. */
export async function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no chromium. Name one with HALTING_CHROMIUM.')
  const isRoot = process.getuid?.() === 0
  return chromium.launch({ executablePath: chromiumPath, headless: true, args: isRoot ? ['--no-sandbox'] : [] })
}

function findChromium(): string | undefined {
  const named = process.env['HALTING_CHROMIUM']
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const candidates =
    named === undefined ? names.flatMap((name) => folders.map((folder) => join(folder, name))) : [named]
  return candidates.find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
