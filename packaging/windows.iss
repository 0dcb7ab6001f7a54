; Installer of the bundle for one user, without rights of an administrator (Inno Setup 6).
; Built by: python packaging/windows.py
[Setup]
AppId={{6B0B6E0C-6B60-4B5C-9C0A-6B9E6E0B7C11}
AppName=Toolcrib
AppVersion={#Version}
AppPublisher=The Toolcrib authors
DefaultDirName={localappdata}\Programs\Toolcrib
DefaultGroupName=Toolcrib
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
ChangesEnvironment=yes
CloseApplications=force
OutputDir=..\dist
OutputBaseFilename=toolcrib-{#Version}-setup
LicenseFile=..\LICENSE
Compression=lzma2
SolidCompression=yes
UninstallDisplayIcon={app}\toolcrib.exe

[Files]
Source: "..\dist\toolcrib\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{userprograms}\Toolcrib"; Filename: "{app}\toolcrib.exe"

[Registry]
; both programs by name in new consoles, and for hosts; taken out again by the code below
Root: HKCU; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Check: NotInPath

[Code]
function OwnPath(): String;
begin
  if not RegQueryStringValue(HKEY_CURRENT_USER, 'Environment', 'Path', Result) then
    Result := '';
end;

function NotInPath(): Boolean;
begin
  Result := Pos(';' + Lowercase(ExpandConstant('{app}')) + ';', ';' + Lowercase(OwnPath()) + ';') = 0;
end;

procedure CurUninstallStepChanged(Step: TUninstallStep);
var
  Path, Ours: String;
begin
  if Step <> usPostUninstall then
    exit;
  Path := ';' + OwnPath() + ';';
  Ours := ';' + ExpandConstant('{app}') + ';';
  if StringChangeEx(Path, Ours, ';', True) > 0 then
    RegWriteExpandStringValue(HKEY_CURRENT_USER, 'Environment', 'Path', Copy(Path, 2, Length(Path) - 2));
end;
