// llms.txt, the list of documents for programs that read them (https://llmstxt.org): titles and first sentences of the guides, and the packages with their public
// names. Fails if the file does not match the documents. `--write` writes it anew, and `--full` prints README and all guides as one text.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { entriesOf, manifestOf, publishedPackages, report, root } from './packages.mjs'

const textOf = (path) => readFileSync(new URL(path, root), 'utf8')

const guides = readdirSync(new URL('docs/guide/', root))
  .filter((name) => name.endsWith('.md'))
  .toSorted()
  .map((name) => `docs/guide/${name}`)

/** Documents of use to few readers. */
const optional = [
  'docs/halting.md',
  'docs/turn.md',
  'docs/glossary.md',
  'docs/spec/README.md',
  'docs/tool-semantics.md',
]

const linked = /\[([^\]]*)\]\([^)]*\)/g

/** The first sentence of a paragraph as plain text, with the second if the first says little. */
function sentenceIn(paragraph) {
  const text = paragraph.replaceAll(linked, '$1').replaceAll(/\s+/g, ' ').trim()
  const [first = text, second] = text.match(/.+?[.!?](?= (?:halting|[A-Z`*])|$)/g) ?? []
  const sentence = first.length < 60 && second !== undefined ? `${first}${second}` : first
  return sentence.replace(/:$/, '.')
}

/** The title of a document, and its first sentence of prose. @throws Error for a document without them */
function headOf(path) {
  const text = textOf(path).replaceAll(/^```[^]*?^```$/gm, '')
  const title = /^# (.+)$/m.exec(text)?.[1]
  const paragraph = text.split(/\n\s*\n/).find((each) => /^(?:halting\b|[A-Z`*[“])/.test(each.trim()))
  if (title === undefined || paragraph === undefined) throw new Error(`${path} has no title, or no sentence`)
  return { title, sentence: sentenceIn(paragraph) }
}

const row = (path) => {
  const { title, sentence } = headOf(path)
  return `- [${title}](${path}): ${sentence}`
}

const libraries = publishedPackages.filter((name) => entriesOf(name).length > 0)
const packageRow = (name) => {
  const { name: id, description } = manifestOf(name)
  return `- [${id}](packages/${name}/public-names.md): ${description}.`
}

const list = `# halting

> ${textOf('README.md')
  .split(/\n\s*\n/)[1]
  .replaceAll(/\s+/g, ' ')
  .trim()}

The terminal program is the package \`halting\`, the library \`@halting/core\` with packages around it. Types are in the packages, with a doc comment on every member.

## Documents

- [README](README.md): what it is, five commands, and what it does that others do not.
- [All guides](docs/README.md): one line for each.
- [Changelog](CHANGELOG.md): what changed, by version.
- [AGENTS.md](AGENTS.md): for changes of this repository.

## Guides

${guides.map(row).join('\n')}

## Packages, with their public names

${libraries.map(packageRow).join('\n')}

## Optional

${optional.map(row).join('\n')}
`

if (process.argv.includes('--full')) {
  process.stdout.write(['README.md', ...guides].map((path) => `<!-- ${path} -->\n\n${textOf(path)}`).join('\n'))
} else {
  const file = new URL('llms.txt', root)
  if (process.argv.includes('--write')) writeFileSync(file, list)
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === list
  const problems = isCurrent ? [] : ['llms.txt is not that of the documents: run npm run names']
  report('llms.txt', guides.length + libraries.length, problems)
}
