import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/**
 * The notices that the authors of the bundled packages require in copies: names, licenses and their texts.
 * @param {Iterable<string>} inputs files of the bundle, absolute @returns {string}
 */
export function noticesOf(inputs) {
  const packages = new Map()
  for (const path of inputs) {
    const folder = packageOf(path)
    if (folder !== undefined) packages.set(folder, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  }
  const parts = [...packages]
    .map(([folder, manifest]) => ({ title: `${manifest.name} ${manifest.version}`, text: textOf(folder, manifest) }))
    .toSorted((a, b) => (a.title < b.title ? -1 : 1))
  return `The program holds parts of these packages.\n\n${parts.map(({ title, text }) => `## ${title}\n\n${text.trim()}\n`).join('\n')}`
}

/** The nearest folder above a file whose manifest has a version. Undefined if the file is not part of a dependency. */
function packageOf(path) {
  const start = path.lastIndexOf('/node_modules/')
  if (start < 0) return undefined
  for (let folder = dirname(resolve(path)); folder.length > start + '/node_modules'.length; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version !== undefined) return folder
  }
  return undefined
}

function textOf(folder, { license, author }) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(?:\.\w+)?$/i.test(name))
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8')
  const by = typeof author === 'string' ? author : (author?.name ?? 'its authors')
  if (license !== 'MIT')
    throw new Error(`${folder} comes under ${license} without its text: scripts/notices.mjs has to know it.`)
  return `Copyright (c) ${by}\n\n${mit}`
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
