// A screen of a terminal as SVG.

const [cell, line, pad, size] = [8.43, 18, 16, 14]
const plain = '#d4d4d8'
const background = '#18181b'
const colours = {
  30: '#52525b',
  31: '#f87171',
  32: '#86c98a',
  33: '#e5c07b',
  34: '#7cb0f0',
  35: '#d09be8',
  36: '#6cc7d0',
  37: plain,
}

/** The control sequences that tmux prints between characters: colors, and changes of the character set. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
export const sequences = /(\u001B\[[\d;:]*m|[\u000E\u000F])/g

/** The lines of a screen as tmux prints them, with their colours. */
export function svgOf(screen, { columns, title }) {
  // Few fonts have this character.
  const rows = screen.replaceAll('⏺', '●').replace(/\n+$/, '').split('\n')
  while (rows.length > 0 && rows[0].trim() === '') rows.shift()
  const [width, height] = [Math.round(columns * cell + 2 * pad), rows.length * line + 2 * pad]
  let style = {}
  const texts = rows.map((row, index) => {
    const parts = []
    let column = 0
    for (const part of row.split(sequences)) {
      if (part.startsWith('\u001B')) style = styled(style, part)
      else if (part !== '' && part !== '\u000E' && part !== '\u000F') {
        if (part.trim() !== '' || style.inverse) parts.push(spanOf(part, column, style, index))
        column += [...part].length
      }
    }
    return parts.join('')
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${size}" fill="${plain}" xml:space="preserve">`,
    ...texts.filter((text) => text !== ''),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

function spanOf(text, column, { bold, dim, italic, colour, inverse }, row) {
  const x = (pad + column * cell).toFixed(1)
  const y = pad + row * line + 13
  const length = ([...text].length * cell).toFixed(1)
  const block = inverse ? `<rect x="${x}" y="${y - 13}" width="${length}" height="${line - 1}" fill="${plain}"/>` : ''
  const looks = [
    ...(bold ? ['font-weight="bold"'] : []),
    ...(italic ? ['font-style="italic"'] : []),
    ...(dim ? ['opacity="0.6"'] : []),
    ...(inverse ? [`fill="${background}"`] : colour === undefined ? [] : [`fill="${colour}"`]),
  ]
  const given = ['', ...looks].join(' ')
  return `${block}<text x="${x}" y="${y}" textLength="${length}"${given}>${escaped(text)}</text>`
}

function styled(style, sequence) {
  const codes = sequence.slice(2, -1).split(';').map(Number)
  let next = style
  for (const code of codes) {
    if (code === 0) next = {}
    else if (code === 1) next = { ...next, bold: true }
    else if (code === 2) next = { ...next, dim: true }
    else if (code === 3) next = { ...next, italic: true }
    else if (code === 7) next = { ...next, inverse: true }
    else if (code === 22) next = { ...next, bold: false, dim: false }
    else if (code === 23) next = { ...next, italic: false }
    else if (code === 27) next = { ...next, inverse: false }
    else if (code === 39) next = { ...next, colour: undefined }
    else if (code in colours) next = { ...next, colour: colours[code] }
  }
  return next
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
