/**
 * A bundle whose files import nothing only for having it loaded: `import "./chunk.js"`. The bundler writes one wherever a package's index leads past code
 * that the file does not use. The packages declare that loading them does nothing (`sideEffects`), so such a line would only cost time,
 * and bundlers warn of it.
 * Gives the files as texts.
 */
export function withoutBareImports(outputFiles) {
  return outputFiles.map(({ path, text }) => ({
    path,
    contents: text.replaceAll(/^import "\.{1,2}\/(?:chunks\/)?[\w-]+\.js";\n/gm, ''),
  }))
}
