import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'

/** The built page. */
export interface PageFiles {
  /** The script, in JavaScript. */
  readonly script: string
  /** The style, in CSS. */
  readonly style: string
}

/**
 * Reads the script and the style of the built page.
 * @throws HaltingError if the page was not built.
 */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  try {
    const [script, style] = await Promise.all(
      ['page.js', 'page.css'].map((name) => readFile(join(folder, name), 'utf8')),
    )
    return { script: script ?? '', style: style ?? '' }
  } catch (cause) {
    throw new HaltingError(
      'configuration',
      `The page of the inspector is not in ${folder}. It is part of the package; in the repository, npm run build creates it.`,
      { cause },
    )
  }
}

const always = `img-src data: blob:; base-uri 'none'; form-action 'none'`

/** The policy of a served page: its own script, style and server only; nothing else loads, and no page may frame it. */
export const servedPolicy: string = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; ${always}`

/** The policy of a page in one file: only this script and this style, and no network access. */
export function filePolicy({ script, style }: PageFiles): string {
  return `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; ${always}`
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** The page that the server sends. */
export function servedPage(title: string): string {
  return [
    ...headOf(title),
    '<link rel="stylesheet" href="page.css">',
    '<script type="module" src="page.js"></script>',
    ...bodyStart,
    ...pageEnd,
  ].join('\n')
}

/** The beginning of every page, up to the parts that differ. */
export function headOf(title: string): readonly string[] {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escapeHtml(title)}</title>`,
    // Otherwise browsers request a favicon.
    '<link rel="icon" href="data:,">',
  ]
}

export const bodyStart: readonly string[] = [
  '</head>',
  '<body>',
  '<div id="app"></div>',
  '<noscript>This page needs JavaScript. halting why prints the ending and the figures in a terminal.</noscript>',
]
export const pageEnd: readonly string[] = ['</body>', '</html>', '']

/** Escapes text for HTML, between tags or in quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
