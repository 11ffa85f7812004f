// Makes elements; text is always text, never markup.

/** `element('p', {class: 'hint'}, 'text', child, …)`; members that are undefined or false are left out. */
export function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== undefined && child !== ''))
  return made
}

/** Text in which `words between backticks` are code. */
export function prose(text) {
  return text.split('`').map((part, i) => (i % 2 ? element('code', {}, part) : part))
}

/** A table; each row is a list of cells, each cell a text, an element, or a list of such. */
export function table(titles, rows) {
  const cells = (row) => row.map((cell) => element('td', {}, ...[cell].flat()))
  return element(
    'div',
    { class: 'wide' },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells(row)))),
    ),
  )
}
