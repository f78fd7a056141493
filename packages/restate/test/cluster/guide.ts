import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const guide = ['cluster', 'operating']
  .map((page) => readFileSync(join(process.cwd(), `docs/guide/${page}.md`), 'utf8'))
  .join('\n')

/** The blocks of commands below a heading of the guide, as lines. */
export function blocksOf(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return [...own.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block.trimEnd().split('\n'))
}

/** A command as its words; those in quotes are one. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
