import { render } from 'preact'
import { LabPage } from './lab_page.tsx'

render(<LabPage />, document.getElementById('app')!)
