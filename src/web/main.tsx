import { render } from 'preact'
import { App } from './app.tsx'
import { start } from './store.tsx'

render(<App />, document.getElementById('app')!)
void start()
